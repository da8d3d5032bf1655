// Keyboard shortcuts: not while somebody types.

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.matches('input:not([type=checkbox]), textarea, select') || target.isContentEditable);
}

export function addKeys(actions: Record<string, () => unknown>): void {
  // After a click of the mouse the keys are the page's again: Space would press the button once more.
  window.addEventListener('click', ({ detail, target }) => {
    const pressed = target instanceof Element ? target.closest('button') : null;
    if (detail > 0 && pressed && pressed === document.activeElement) pressed.blur();
  });
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
