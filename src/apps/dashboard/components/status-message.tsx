// Short message that an action succeeded, in one place of the page. Screen readers announce the message.
import { signal } from "@preact/signals";

/** Time in milliseconds after which a message disappears. */
const shownMs = 8000;

const message = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message, such as `Version 3 deleted.`, instead of the previous one. */
export function say(text: string): void {
  clearTimeout(timer);
  message.value = text;
  timer = setTimeout(() => (message.value = ""), shownMs);
}

/** Describes what was added to a queue. */
export function addedText(count: number, duplicates: number): string {
  return `${count} added${duplicates === 0 ? "" : `, ${duplicates} ${duplicates === 1 ? "was" : "were"} in the queue`}`;
}

/** Frame of the message. It is always there, because screen readers announce only changes of an element. */
export function StatusMessage() {
  return (
    <div class="status-message" role="status">
      {message.value !== "" && <p>{message.value}</p>}
    </div>
  );
}
