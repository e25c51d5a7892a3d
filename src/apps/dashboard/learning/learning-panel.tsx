// Panel of a model's view: whether the model learns while it is used, and its newest learning cycles.
import type { Learning, LearningCycle, ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Shown, When, WideTable } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { HowItLearns, LearningState } from "./learning-state.tsx";
import { LearningSwitch } from "./learning-switch.tsx";

const everyMs = 10_000;

export function LearningPanel({ hone, model }: { readonly hone: Hone; readonly model: ModelObject }) {
  const { id } = model;
  const loaded = useLoaded((signal) => stateOf(hone, model, signal), [hone, model], everyMs);
  return (
    <section aria-labelledby="learning">
      <h2 id="learning">Learning while it is used</h2>
      <Shown loaded={loaded}>
        {({ learning, cycles }) => (
          <>
            <p>{learning === null ? "Off." : `On; ${learning.status}: ${learning.explanation}`}</p>
            <div class="row-buttons">
              <LearningSwitch hone={hone} id={id} isOn={learning !== null} onChange={loaded.reload} />
            </div>
            {learning !== null && learning.fault !== null && <p class="failure">{learning.fault}</p>}
            {learning === null ? <HowItLearns /> : <LearningState of={learning} />}
            {learning !== null && cycles.length === 0 && (
              <p class="muted">No cycles yet. A cycle begins when there is enough new feedback.</p>
            )}
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

async function stateOf(hone: Hone, model: ModelObject, signal: AbortSignal): Promise<State> {
  const { id, entity, project, name } = model;
  const learning = { entity, project, name, learning: "on", limit: 1 } as const;
  const [learners, cycles] = await Promise.all([
    // A request for the learning of a model that does not learn would fail with 404.
    hone.models.list(learning, { signal }).first(),
    hone.learning.cycles(id, { limit: 10 }, { signal }).first(),
  ]);
  return {
    learning: learners.data.length === 0 ? null : await hone.learning.get(id, { signal }),
    cycles: cycles.data,
  };
}

const columns = {
  Began: "Time at which the training job of the cycle was created",
  Stage: "Stage of the cycle, or the decision on its candidate version",
  Versions: "Version that answered requests, and the candidate version",
  "Learned from": "New feedback that the job trained on, by kind and person",
  Score: "Scores of both versions on held-out conversations, which no cycle trains on",
  Reason: "Reason of the decision, or what the cycle waits for",
} as const;

function Cycles({ cycles }: { readonly cycles: readonly LearningCycle[] }) {
  return (
    <WideTable label="Learning cycles">
      <thead>
        <tr>
          {Object.entries(columns).map(([name, title]) => (
            <th key={name} scope="col" title={title}>
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
