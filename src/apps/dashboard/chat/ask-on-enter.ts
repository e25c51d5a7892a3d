// Enter in a question's text area sends the question; Shift Enter begins a new line.

/** Submits the form if the event is Enter in a text area. */
export function askOnEnter(event: KeyboardEvent, form: HTMLFormElement | null): void {
  if (event.key !== "Enter" || event.shiftKey || !(event.target instanceof HTMLTextAreaElement)) return;
  // While an input method composes a character, Enter confirms it.
  if (event.isComposing) return;
  event.preventDefault();
  form?.requestSubmit();
}
