// Builds the loop that runs reinforcement fine-tuning jobs. Like a client, the loop sends requests to the models of
// this server.
import { usedModels } from "../../../api/http/ask-model.ts";
import type { HttpDependencies } from "../../../api/http/dependencies.ts";
import { ReinforcementLoop } from "../../../train/fine-tuning/reinforcement-loop.ts";
import type { ServerContext } from "./context.ts";

export function buildReinforcement(
  { database, server, settings, tools }: ServerContext,
  http: HttpDependencies,
): ReinforcementLoop {
  const { fineTuning, jobs, models } = database;
  return new ReinforcementLoop({
    ...tools,
    fineTuning,
    jobs,
    models,
    jobQueue: http.jobQueue,
    files: http.files,
    modelsAs: (caller) => usedModels(http, caller),
    owner: server,
    settings: settings.fineTuning,
  });
}
