// Shows the answers of two versions to one prompt, and the words in which they differ.
import type { StoredTrajectory } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortNumber } from "../components/numbers.ts";
import { Shown } from "../components/shown.tsx";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { branchesOf } from "../trajectories/turns.ts";
import { useLoaded } from "../use-loaded.ts";
import type { EvaluationCell } from "./evaluation-rows.ts";
import { WordDiff } from "./word-diff.tsx";

interface Side {
  readonly version: number;
  readonly cell: EvaluationCell;
}

export function AnswerPair({
  hone,
  modelId,
  prompt,
  sides,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly prompt: string;
  /** The versions to compare, the earlier column first. */
  readonly sides: readonly [Side, Side];
}) {
  const ids = sides.map(({ cell }) => cell.outlines[0]?.id ?? "");
  const loaded = useLoaded(
    (signal) => Promise.all(ids.map((id) => hone.trajectories.get(modelId, id, { signal }))),
    [hone, modelId, ids.join()],
  );
  return (
    <section aria-labelledby="answers">
      <h2 id="answers">Answers</h2>
      <p class="muted" dir="auto">
        {prompt}
      </p>
      <Shown loaded={loaded}>
        {(trajectories) => {
          const [before = "", after = ""] = trajectories.map(lastAnswer);
          return (
            <>
              <div class="sides sides-2">
                {sides.map(({ version, cell }, index) => (
                  <section key={version} class="side" aria-label={`Answer of version ${version}`}>
                    <h3>Version {version}</h3>
                    <div class="said" dir="auto">
                      {index === 0 ? before : after}
                    </div>
                    <p class="members">
                      {cell.outlines.map(({ id, reward }) => (
                        <a key={id} href={addressOf("trajectories", [modelId, id], fromHere())}>
                          Trajectory {id}, reward {shortNumber(reward)}
                        </a>
                      ))}
                    </p>
                  </section>
                ))}
              </div>
              <h3>Difference in words</h3>
              {before === after ? <p>The answers are equal.</p> : <WordDiff before={before} after={after} />}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

/** Returns the text of the last answer of the main conversation. */
function lastAnswer(trajectory: StoredTrajectory): string {
  const turns = branchesOf(trajectory)[0]?.turns ?? [];
  return turns.findLast(({ role, isReply }) => isReply || role === "assistant")?.text ?? "";
}
