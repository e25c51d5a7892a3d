// Names of fine-tuned models in OpenAI's form: `ft:<base>:<entity>:<suffix>:<model id>`. Only the id at the end
// identifies the model; the other parts are for readers.
import type { FineTuningJob } from "./fine-tuning-job.ts";

const form =
  /^ft:.*:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?::(?:ckpt-step-|step)(\d{1,9}))?$/is;

/** Returns the name of the model that a job trains. It refers to the model's newest version. */
export function fineTunedName({ modelId, entity, order }: FineTuningJob): string {
  return `ft:${order.baseModel}:${entity}:${order.suffix ?? ""}:${modelId}`;
}

/** Returns the name of one version of a fine-tuned model. */
export function fineTunedCheckpoint(job: FineTuningJob, step: number): string {
  return `${fineTunedName(job)}:ckpt-step-${step}`;
}

/** Parses a name that the functions above return; null for any other text. */
export function parseFineTunedName(
  text: string,
): { readonly modelId: string; readonly step: number | null } | null {
  const match = form.exec(text);
  if (match === null) return null;
  return { modelId: match[1], step: match[2] === undefined ? null : Number(match[2]) };
}
