"""Explanation: what a run learned and where its model looks, as typed records and as pages that a browser shows offline."""
