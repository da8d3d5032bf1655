// Logs in and connects, by which what there is comes, while the browser still loads the page's code, which goes on with it (src/session/connection.ts).
(() => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  const answer = token === null ? fetch('/login') : fetch('/login', { method: 'POST', body: token, headers: { 'Content-Type': 'text/plain' } });
  window.attuneEarly = answer.then(({ ok }) => {
    if (!ok) return null;
    // The credits are those of App.greet() on other connections: what there is comes unasked.
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws?credits=2`);
    socket.binaryType = 'arraybuffer';
    const messages = [];
    socket.onmessage = ({ data }) => messages.push(data);
    return { socket, messages };
  }).catch(() => null);
})();
