// A probability as a share of a hundred.
export function share(value) {
  return value >= 0.0005 || value === 0 ? `${(100 * value).toFixed(1)} %` : "< 0.1 %";
}
