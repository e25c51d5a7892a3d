// Builds the loop that trains models while they are used. Like a client, the loop sends requests to the models of this
// server, but it waits while the server answers other requests.
import { usedModels } from "../../../api/http/ask-model.ts";
import type { HttpDependencies } from "../../../api/http/dependencies.ts";
import { measureTokensAs } from "../../../api/http/measure-tokens.ts";
import type { Caller } from "../../../base/domain/access.ts";
import { LearningLoop } from "../../../train/learning/learning-loop.ts";
import { waitUntilIdle } from "../../../train/learning/wait-until-idle.ts";
import type { ServerContext } from "./context.ts";

export function buildLearning(
  { audit, database, server, settings, tools }: ServerContext,
  http: HttpDependencies,
  runningCount: () => number,
): LearningLoop {
  const { learning, jobs, models, completions, sources } = database;
  const { clock, logger } = tools;
  const yielding = <Input extends readonly unknown[], Answer>(
    ask: (...input: [...Input, { readonly signal: AbortSignal }]) => Promise<Answer>,
  ) => {
    return async (...input: [...Input, { readonly signal: AbortSignal }]): Promise<Answer> => {
      const { signal } = input.at(-1) as { readonly signal: AbortSignal };
      await waitUntilIdle({ clock, runningCount, settings: settings.learning, signal });
      return ask(...input);
    };
  };
  return new LearningLoop({
    ...tools,
    learning,
    jobs,
    models,
    completions,
    sources,
    feedback: database.feedback,
    sequenceLengthMax: settings.training.sequenceLengthMax,
    findFeedback: (projectId, id) => database.feedback.find(projectId, id),
    createFeedback: (record, caller) => http.feedback.create(record, caller),
    jobQueue: http.jobQueue,
    askAs: (caller: Caller) => yielding(usedModels(http, caller).ask),
    measureAs: (caller: Caller) => yielding(measureTokensAs(http, caller)),
    owner: server,
    settings: settings.learning,
    onChange: ({ modelId, stage, candidateStep, reason }, { keyId }) => {
      const version = candidateStep === null ? "" : `:step${candidateStep}`;
      logger.info({ modelId, stage, version: candidateStep, reason }, "a learning cycle changed its stage");
      audit.record({
        time: clock.now(),
        keyId,
        entity: null,
        address: null,
        action: `learning-${stage} ${modelId}${version}`,
        outcome: "done",
        requestId: null,
      });
    },
  });
}
