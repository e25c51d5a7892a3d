// Parts of the panel about learning: what learning does, and how far the model is from its next learning cycle.
import type { Learning } from "../../client/api.ts";
import { durationText } from "../components/numbers.ts";
import { Facts } from "../components/shown.tsx";

const guide = "guide/guides/learning-in-use.html";

/** Names of the kinds of feedback that a model learns from. */
const signalNames = {
  ratings: "ratings",
  edits: "corrected answers",
  next_message: "replies of users",
} as const;

export function HowItLearns() {
  return (
    <section class="card" aria-labelledby="how">
      <h3 id="how">How a model learns from the people who use it</h3>
      <ol>
        <li>
          People rate the model&apos;s answers or correct them. When there is enough new feedback, the server
          starts a training job.
        </li>
        <li>
          The job makes a candidate version. The name of the model still stands for the current version.
        </li>
        <li>
          The server compares both versions on held-out conversations. Only a candidate that is not worse
          answers requests.
        </li>
        <li>
          If people then rate the answers of the new version lower, the server returns to the version before.
        </li>
      </ol>
      <p>
        <a href={guide}>Guide: learning while a model is used</a>
      </p>
    </section>
  );
}

/** Progress to the next cycle, and the settings of learning. */
export function LearningState({
  of: { settings, new_signals: signals, held_out_prompts: prompts },
}: {
  readonly of: Learning;
}) {
  const { signals_min: signalsMin, prompts_min: promptsMin, seconds_between: seconds, judge } = settings;
  return (
    <section aria-labelledby="next-cycle">
      <h3 id="next-cycle">Next cycle</h3>
      <Facts
        of={[
          ["new feedback", `${signals ?? "–"} of ${signalsMin} needed`],
          ["held-out prompts", `${prompts ?? "–"} of ${promptsMin} needed`],
          ["time between cycles", `at least ${durationText(seconds)}`],
          ["learns from", settings.signals.map((signal) => signalNames[signal]).join(", ")],
          ["judge", judge === null ? "none: ratings decide" : judge.model],
        ]}
      />
      <p class="muted">
        A cycle trains a candidate version on the new feedback, and compares it with the current version on
        held-out conversations. <a href={guide}>Guide: learning while a model is used</a>
      </p>
    </section>
  );
}
