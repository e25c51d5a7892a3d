// Panel of a model's view: whether the model learns while it is used, and its newest learning cycles.
import type { Learning, LearningCycle } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { Shown, When, WideTable } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { LearningSwitch } from "./learning-switch.tsx";

const everyMs = 10_000;

export function LearningPanel({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const loaded = useLoaded((signal) => stateOf(hone, id, signal), [hone, id], everyMs);
  return (
    <section aria-labelledby="learning">
      <h2 id="learning">Learning while it is used</h2>
      <Shown loaded={loaded}>
        {({ learning, cycles }) => (
          <>
            <p>{learning === null ? "Off." : `On; ${learning.status}: ${learning.explanation}`}</p>
            <LearningSwitch hone={hone} id={id} isOn={learning !== null} onChange={loaded.reload} />
            {learning !== null && learning.fault !== null && <p class="failure">{learning.fault}</p>}
            {cycles.length > 0 && <Cycles cycles={cycles} />}
          </>
        )}
      </Shown>
    </section>
  );
}

interface State {
  /** Null if learning is off. */
  readonly learning: Learning | null;
  readonly cycles: readonly LearningCycle[];
}

async function stateOf(hone: Hone, id: string, signal: AbortSignal): Promise<State> {
  const learning = await hone.learning.get(id, { signal }).catch((error: unknown) => {
    if (error instanceof HoneError && error.status === 404) return null;
    throw error;
  });
  const { data } = await hone.learning.cycles(id, { limit: 10 }, { signal }).first();
  return { learning, cycles: data };
}

function Cycles({ cycles }: { readonly cycles: readonly LearningCycle[] }) {
  return (
    <WideTable label="Learning cycles">
      <thead>
        <tr>
          {["began", "stage", "versions", "learned from", "score", "reason"].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {cycles.map((cycle) => (
          <tr key={cycle.id}>
            <td>
              <When at={cycle.created_at} />
            </td>
            <td>{cycle.stage}</td>
            <td>
              {cycle.candidate_version === null
                ? ""
                : `${cycle.current_version ?? 0} → ${cycle.candidate_version}`}
            </td>
            <td>
              {cycle.learned
                .map(({ count, kind, creator, owner }) => `${count} ${kind} from ${creator ?? owner}`)
                .join(", ")}
            </td>
            <td>{scoreOf(cycle)}</td>
            <td>{cycle.reason ?? cycle.waiting_for ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

function scoreOf({ evaluation }: LearningCycle): string {
  if (evaluation === null) return "";
  return `${evaluation.current.score.toFixed(3)} → ${evaluation.candidate.score.toFixed(3)}`;
}
