// Numbers with named axes, as the data of the page holds them: nested lists, or base64 of little-endian float32.

const unpacked = new WeakMap();

function numbers({ float32, values }) {
  if (float32 === undefined) return Float32Array.from(values.flat(Infinity), (value) => value ?? -Infinity);
  const text = atob(float32);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return new Float32Array(bytes.buffer);
}

// `at(2, 1)` indexes the first axes: a number if all axes are given, else a view of the same memory.
export function arrayOf(packed) {
  if (!unpacked.has(packed)) {
    const data = numbers(packed);
    const { axes, shape } = packed;
    const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
    const at = (...places) => {
      const start = places.reduce((sum, place, axis) => sum + place * strides[axis], 0);
      return places.length === shape.length ? data[start] : data.subarray(start, start + strides[places.length - 1]);
    };
    unpacked.set(packed, { axes, shape, data, at });
  }
  return unpacked.get(packed);
}
