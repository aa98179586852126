// The WebSocket: says the token, sends requests, reconnects by itself.

const WAITS = [300, 1000, 2000, 4000, 8000];

export class Connection {
  // `on` has: open(), closed(), reply(object), image(header, blob).
  constructor(token, on) {
    this.token = token;
    this.on = on;
    this.tries = 0;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`ws://${location.host}/socket`);
    this.socket.binaryType = 'arraybuffer';
    this.known = false;
    this.socket.onopen = () => this.send({ type: 'hello', token: this.token });
    this.socket.onmessage = ({ data }) => {
      if (typeof data === 'string') {
        const reply = JSON.parse(data);
        if (reply.type === 'scene') {
          this.known = true;
          this.tries = 0;
        }
        this.on.reply(reply);
      } else {
        const word = (i) => new DataView(data).getUint32(4 * i, true);
        const names = ['kind', 'seq', 'codec', 'width', 'height', 'render', 'encode', 'step'];
        const header = Object.fromEntries(names.map((name, i) => [name, word(i)]));
        const type = header.codec === 2 ? 'image/png' : 'image/jpeg';
        this.on.image(header, new Blob([data.slice(32)], { type }));
      }
    };
    this.socket.onclose = () => {
      this.on.closed(this.known);
      const wait = WAITS[Math.min(this.tries++, WAITS.length - 1)];
      setTimeout(() => this.connect(), wait);
    };
  }

  get open() {
    return this.known && this.socket.readyState === WebSocket.OPEN;
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
