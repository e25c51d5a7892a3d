// Box with the warnings of a job, such as that it moved the policy too far, and a link that trains again.
import type { TrainingJob } from "../../client/api.ts";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { suggestedRate } from "../training/again.ts";
import { inWords } from "../training/settings.ts";

export function JobWarnings({ job }: { readonly job: TrainingJob }) {
  if (job.warnings.length === 0) return null;
  const rate = suggestedRate(job);
  return (
    <section class="card warnings" aria-label="Warnings of the job">
      {job.warnings.map((warning) => (
        <p key={warning} class="warning">
          {inWords(warning)}
        </p>
      ))}
      {rate !== null && may("train") && (
        <a class="button" href={addressOf("train", [], { job: job.id, learning_rate: rate })}>
          Train again with a learning rate of {rate}
        </a>
      )}
    </section>
  );
}
