// The feedback that a job trained on: the judged answers with their judgements and rewards; nothing for jobs on other
// data.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortNumber } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import { callOf } from "../feedback-list/feedback-query.ts";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { loadSources, type ShownSource, sourcesMax } from "./sources.ts";

export function FeedbackBehind({
  hone,
  job: { model_id: modelId, result_step: step },
}: {
  readonly hone: Hone;
  readonly job: TrainingJob;
}) {
  const { value } = useLoaded(
    async (signal) => (step === null ? null : await loadSources(hone, modelId, step, signal)),
    [hone, modelId, step],
  );
  if (value === null || value.sources.length === 0) return null;
  return (
    <section>
      <h2>Feedback behind version {step}</h2>
      {value.hasMore && <p class="muted">Only the first {sourcesMax} answers are shown.</p>}
      <WideTable label={`Feedback behind version ${step}`}>
        <thead>
          <tr>
            <th scope="col">prompt</th>
            <th scope="col">answer</th>
            <th scope="col">judgement</th>
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
          {value.sources.map(({ source, prompt, answer, judgements }) => (
            <tr key={source.id}>
              <td class="words" dir="auto">
                <Prompt reference={source.call} prompt={prompt} />
              </td>
              <td class="words" dir="auto" title={answer}>
                {answer}
              </td>
              <td class="words" title={judgements.join(", ")}>
                {judgements.join(", ")}
              </td>
              <td class="number">{shortNumber(source.reward ?? NaN)}</td>
              <td class="number">{source.people}</td>
              <td class="number">{source.feedback.length}</td>
              <td class="number">{source.step}</td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </section>
  );
}

/** Link to the conversation of an answer. Its text is the beginning of the prompt. */
function Prompt({
  reference,
  prompt,
}: {
  readonly reference: string;
  readonly prompt: ShownSource["prompt"];
}) {
  const call = callOf(reference);
  if (call === null) return <>{reference}</>;
  return (
    <a
      href={addressOf("conversations", [call.id], { project: call.project, ...fromHere() })}
      title={prompt === null || prompt === "" ? reference : prompt}
    >
      {prompt === null || prompt === "" ? `conversation ${call.id.slice(-8)}` : prompt}
    </a>
  );
}
