"""Explanation: what a run learned, where its model looks and how runs compare, as typed records, tables, figures and offline pages."""
