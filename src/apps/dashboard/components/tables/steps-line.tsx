// Progress of an action on many rows, with a button that stops it.
import { steps } from "./steps.ts";

export function StepsLine() {
  const running = steps.value;
  if (running === null || running.total < 2) return null;
  const { done, total, stop } = running;
  return (
    <span class="bulk">
      <progress aria-label="Progress" max={total} value={done} />
      {done.toLocaleString("en")} of {total.toLocaleString("en")}
      <button type="button" onClick={stop}>
        Stop
      </button>
    </span>
  );
}
