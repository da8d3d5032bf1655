// Keyboard shortcuts: not while somebody types.

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.matches('input:not([type=checkbox]), textarea, select') || target.isContentEditable);
}

export function addKeys(actions: Record<string, () => unknown>): void {
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) && event.key !== 'Escape') return;
    // A focused button keeps its own key.
    if (event.key === ' ' && event.target instanceof HTMLElement && event.target.matches('button, input')) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
