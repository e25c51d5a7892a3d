// Part of the view of a job that made a version: links that chat with the version or evaluate it, and a button that pins it.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { PinButton } from "../evaluation/pin-button.tsx";
import { chatAddress } from "../model/model-path.ts";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";

export function NextSteps({
  hone,
  job: { model, model_id: id, result_step: step },
}: {
  readonly hone: Hone;
  readonly job: Pick<TrainingJob, "model" | "model_id" | "result_step">;
}) {
  if (model === null || step === null) return null;
  return (
    <div class="row-buttons" role="group" aria-label="Next steps">
      {may("chat") && (
        <a class="button" href={chatAddress(`${model}:step${step}`, `${model}:step${Math.max(0, step - 1)}`)}>
          Chat with version {step}
        </a>
      )}
      <a class="button" href={addressOf("evaluation", [id])}>
        Evaluate
      </a>
      <PinButton hone={hone} modelId={id} step={step} isPinned={false} />
    </div>
  );
}
