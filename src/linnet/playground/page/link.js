// The socket to the server: JSON out, JSON or packed arrays in.
const TYPES = { f4: Float32Array, u2: Uint16Array, u1: Uint8Array };

/** A message of bytes as an object: its header, with the arrays it names in `arrays`, by name. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, type, shape, offset] of header.arrays) {
    const count = shape.reduce((product, size) => product * size, 1);
    arrays[name] = Object.assign(new TYPES[type](buffer, 4 + length + offset, count), { shape });
  }
  return { ...header, arrays };
}

export class Link {
  /** Calls `on[message.is](message)` for what comes, `on.closed(reason)` at the end. */
  constructor(on) {
    this.on = on;
    this.socket = new WebSocket(`ws://${location.host}/live`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => {
      const message = typeof data === "string" ? JSON.parse(data) : unpack(data);
      this.on[message.is]?.(message);
    };
    this.socket.onclose = ({ reason }) => this.on.closed(reason);
  }

  send(what, more = {}) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ do: what, ...more }));
  }
}
