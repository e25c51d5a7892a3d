// The feedback that a job trained on: the judged answers with their rewards; nothing for jobs on other data.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortNumber } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import { callOf } from "../feedback-list/feedback-query.ts";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

/** Maximum number of answers that are shown. */
const limit = 100;

export function FeedbackBehind({
  hone,
  job: { model_id: modelId, result_step: step },
}: {
  readonly hone: Hone;
  readonly job: TrainingJob;
}) {
  const { value } = useLoaded(
    async (signal) =>
      step === null ? null : await hone.checkpoints.sources(modelId, step, { limit }, { signal }).first(),
    [hone, modelId, step],
  );
  if (value === null || value.data.length === 0) return null;
  return (
    <section>
      <h2>Feedback behind version {step}</h2>
      {value.has_more && <p class="muted">Only the first {limit} answers are shown.</p>}
      <WideTable label={`Feedback behind version ${step}`}>
        <thead>
          <tr>
            <th scope="col">answer</th>
            <th scope="col" class="number">
              reward
            </th>
            <th scope="col" class="number">
              people
            </th>
            <th scope="col" class="number">
              records
            </th>
            <th scope="col" class="number">
              version
            </th>
          </tr>
        </thead>
        <tbody>
          {value.data.map(({ id, call, reward, people, feedback, step: answeredBy }) => (
            <tr key={id}>
              <td>
                <Answer reference={call} />
              </td>
              <td class="number">{shortNumber(reward ?? NaN)}</td>
              <td class="number">{people}</td>
              <td class="number">{feedback.length}</td>
              <td class="number">{answeredBy}</td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </section>
  );
}

function Answer({ reference }: { readonly reference: string }) {
  const call = callOf(reference);
  if (call === null) return <>{reference}</>;
  return (
    <a
      href={addressOf("conversations", [call.id], { project: call.project, ...fromHere() })}
      title={reference}
    >
      conversation {call.id.slice(-8)}
    </a>
  );
}
