// Lets a worker read its messages while it computes.

const channel = new MessageChannel();
/** @type {(() => void)[]} */
const waiting = []; // several computations may wait at the same time: each gets one message
channel.port1.onmessage = () => waiting.shift()();

// Waits until pending messages have been handled.
/** @returns {Promise<void>} */
export function nextMessages() {
  return new Promise((done) => {
    waiting.push(done);
    channel.port2.postMessage(0);
  });
}
