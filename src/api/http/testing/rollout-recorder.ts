// For tests: records the answers of the fake chat service to calls of rollouts, as the real service does.
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createRecorder } from "../../../inference/chat/recordings/recorder.ts";
import { recordingSettings } from "../../../inference/chat/recordings/settings.ts";
import { sampleContent } from "../../../store/database/contract/completion-store.ts";
import type { Stores } from "../../../store/database/stores.ts";
import type { FakeChat } from "./fake-chat.ts";

/** Returns a function that begins to record an answer. */
export function rolloutRecorder(
  { completions: store, models }: Pick<Stores, "completions" | "models">,
  clock: Clock,
): NonNullable<FakeChat["record"]> {
  const metrics = createMetrics({ processMetrics: false });
  const settings = recordingSettings.with();
  const recorder = createRecorder({ store, settings, clock, metrics, logger: silentLogger });
  return async (request, caller, attempt) => {
    const { modelId, pinnedStep } = present(caller.rollout, "the rollout of the call");
    const { entity, project } = present(await models.find(modelId), "the model of the rollout");
    const { model } = request.identity;
    const named = { projectId: `${entity}/${project}`, modelId, step: pinnedStep ?? 0 };
    return recorder.begin({
      request,
      caller,
      version: { ...named, model: model ?? "", fingerprint: "tiny@base+test" },
      promptTokenIds: [1, 2, 3],
      choiceCount: choiceCountOf(request.output),
      sampling: sampleContent().sampling,
      startedAt: clock.now(),
      attempt: attempt ?? null,
    });
  };
}
