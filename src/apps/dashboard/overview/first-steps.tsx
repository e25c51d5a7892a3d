// First steps of a new server: the first answer, a demo of learning, and a project of the user's own.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Command } from "../components/empty.tsx";
import { summary } from "../live.ts";
import { addressOf } from "../router.ts";
import { ownName } from "../session.ts";

/** True if the first steps are shown: from the first view of a server without jobs until the user dismisses them. */
export function hasFirstSteps(isNew: boolean): boolean {
  const stored = isDismissed.value ? "dismissed" : localStorage.getItem(storedName());
  return stored === null ? isNew : stored === "shown";
}

/** True if the user has dismissed the steps in this tab. */
const isDismissed = signal(false);

function dismiss(): void {
  localStorage.setItem(storedName(), "dismissed");
  isDismissed.value = true;
}

function storedName(): string {
  return ownName("hone-first-steps");
}

export function FirstSteps() {
  useEffect(() => localStorage.setItem(storedName(), "shown"), []);
  const model = summary.value?.bases[0]?.name ?? "hone-tiny";
  const { origin } = location;
  return (
    <section class="card first-steps" aria-labelledby="first">
      <div class="section-head">
        <h2 id="first">First steps</h2>
        <button type="button" class="plain" onClick={dismiss}>
          Dismiss
        </button>
      </div>
      <ol>
        <li>
          <h3>Get an answer</h3>
          <p>
            Every OpenAI client works with this address. You can also <a href={addressOf("chat")}>chat</a> on
            this page.
          </p>
          <Command text={chatCommand(origin, model)} />
        </li>
        <li>
          <h3>Watch a model learn</h3>
          <p>The demo trains a small model on a game of three words. It takes less than a minute.</p>
          <Command text={`npx hone demo --url ${origin}`} />
        </li>
        <li>
          <h3>Start a project</h3>
          <p>The command writes a project with a reward of your own, and a script that trains on it.</p>
          <Command text="npx hone init my-agent" />
        </li>
      </ol>
    </section>
  );
}

/** Returns a shell command that asks a model for an answer. */
function chatCommand(origin: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  return [
    `curl ${origin}/v1/chat/completions \\`,
    `  -H "authorization: Bearer $HONE_API_KEY" -H "content-type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
