// The part of Protocol Buffers needed to read a SentencePiece model: a message is a sequence of fields, each a
// number, a wire type and a value. https://protobuf.dev/programming-guides/encoding/

// Calls `field(number, value)` for each field: a number for varints and floats, bytes for everything else.
/** @param {Uint8Array} bytes @param {(number: number, value: any) => void} field */
export function readMessage(bytes, field) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  const varint = () => {
    let [value, factor, byte] = [0, 1, 0];
    do {
      byte = view.getUint8(offset++);
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte & 128);
    return value;
  };
  while (offset < bytes.length) {
    const tag = varint();
    const [number, kind] = [tag >>> 3, tag & 7];
    if (kind === 0) field(number, varint());
    else if (kind === 5) {
      field(number, view.getFloat32(offset, true));
      offset += 4;
    } else if (kind === 1) offset += 8;
    else if (kind === 2) {
      const length = varint();
      if (offset + length > bytes.length) throw new RangeError("a field extends beyond the end of the message");
      field(number, bytes.subarray(offset, offset + length));
      offset += length;
    } else throw new RangeError(`a field has the unknown kind ${kind}`);
  }
}
