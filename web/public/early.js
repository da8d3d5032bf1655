// Logs in, connects and asks for what there is while the browser still loads the page's code, which goes on with it (src/session/connection.ts).
(() => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  const answer = token === null ? fetch('/login') : fetch('/login', { method: 'POST', body: token, headers: { 'Content-Type': 'text/plain' } });
  window.attuneEarly = answer.then(({ ok }) => {
    if (!ok) return null;
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    const messages = [];
    // As App.greet() does on other connections.
    socket.onopen = () => socket.send(JSON.stringify({ credits: 2, revision: 0 }));
    socket.onmessage = ({ data }) => messages.push(data);
    return { socket, messages };
  }).catch(() => null);
})();
