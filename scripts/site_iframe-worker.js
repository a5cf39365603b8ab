// A browser starts no worker for a page that it opened as a file. The site's search wants one, so for such pages a hidden
// frame does its work: it has a window of its own, in which the worker's script runs and messages go both ways.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const tell = (target, data) => target.dispatchEvent(new MessageEvent("message", {data}));
      const load = (address) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.onload = done;
        script.onerror = failed;
        script.src = new URL(address, document.baseURI);
        inside.document.body.append(script);
      });
      inside.postMessage = (data) => tell(this, data);
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      this.ready = load(url);
      this.send = (data) => this.ready.then(() => tell(inside, data));
      this.terminate = () => frame.remove();
    }
    postMessage(data) { this.send(data); }
  };
}
