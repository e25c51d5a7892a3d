// Builds the parts that answer model requests, and starts loading the engines. `loadBases` waits for the engines once
// HTTP is up.
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { createChatService } from "../../../inference/chat/complete-chat.ts";
import { createEmbeddingService } from "../../../inference/chat/embeddings/embedding-service.ts";
import { createRecorder } from "../../../inference/chat/recordings/recorder.ts";
import { RolloutCalls } from "../../../inference/chat/rollouts/rollout-calls.ts";
import { createTokenizationService } from "../../../inference/chat/tokenization.ts";
import { WaitingSlots } from "../../../inference/chat/waiting-slots.ts";
import { createConstraintChecker } from "../../../inference/engine/constraint-check/constraint-checker.ts";
import { endEnginesAhead } from "../../../inference/engine/embedded-engine.ts";
import { createPromptExchange } from "../../../inference/kv-transfer/prompt-exchange.ts";
import type { HttpDependencies } from "../../../api/http/dependencies.ts";
import { requireOne } from "../bases/failed-bases.ts";
import { findBase } from "../bases/served-bases.ts";
import { unsupportedConstraint } from "../constraints/unsupported-constraint.ts";
import { runWarmUp } from "../warm-up.ts";
import type { Access } from "./access.ts";
import type { ServerContext, Start } from "./context.ts";
import type { Models } from "./models.ts";

export async function buildServing(
  context: ServerContext,
  models: Models,
  { usage, room }: Access,
  start: Start,
) {
  const { settings, database, telemetry, progress, build, tools } = context;
  const { bases, failed, directory, shelf, adapters } = models;
  // Engines load while the HTTP server is prepared. `loadBases` later waits for each engine, reports its error, and
  // registers its stop. If the start fails before that, this service stops the engines and the text components, which
  // wait for prompts that are being rendered.
  const beginning = serviceOf("starting bases", {
    start: async () => {
      for (const { engine } of bases) engine.start().catch(() => undefined);
    },
    stop: async () =>
      void (await Promise.all(bases.flatMap(({ engine, texts }) => [engine.stop(), texts.stop()]))),
  });
  if (context.isServing) await start(beginning);
  const { checkSeconds: seconds } = settings.http;
  const checker = createConstraintChecker({ limits: settings.constraints, seconds });
  await start(checker);
  const exchange = createPromptExchange({
    ...tools,
    settings: settings.transfer,
    build,
    listening: () => progress.address,
    engines: () => bases.flatMap(({ engine }) => engine.transfers ?? []),
  });
  const recorder = createRecorder({
    ...tools,
    store: database.completions,
    settings: settings.recordings,
    room,
  });
  await start(recorder);
  const rollouts = new RolloutCalls({ completions: database.completions });
  const waitingSlots = new WaitingSlots(settings.engine.waitingCountMax);
  const shared = { ...tools, waitingSlots, directory, bases: shelf, adapters, usage };
  const chat = createChatService({ ...shared, exchange, recorder, rollouts, genAi: telemetry.genAi });
  const embeddings = createEmbeddingService(shared);
  return {
    chat,
    embeddings,
    tokenization: createTokenizationService(shared),
    exchange,
    checkConstraint: async (name, constraint, { instances, ...options }) => {
      const unoffered = unsupportedConstraint(constraint, models.engineOf(name));
      if (unoffered !== null) return unoffered;
      const { texts, release } = await findBase({ bases, failed }, name).texts.use();
      const asked = { name, vocabulary: texts.vocabulary };
      return checker.check(asked, constraint, instances, options).finally(release);
    },
  } satisfies Partial<HttpDependencies>;
}

/**
 * Waits for the engines and runs the warm-up chats; call it once HTTP is up. Meanwhile, the prompt threads load the
 * tokenizers a second time: an engine that loads its model uses only one core most of the time.
 */
export async function loadBases(
  { settings, tools }: ServerContext,
  models: Models,
  http: HttpDependencies,
  start: Start,
) {
  const { bases, directory, shelf } = models;
  // If a base fails to load, the error is logged. Lists of models and answers to requests report it too. The other
  // bases are served.
  const loading = bases.flatMap(({ engine, texts }) => [engine, texts]);
  await Promise.all(loading.map((part) => start(part).catch(() => undefined)));
  endEnginesAhead();
  requireOne(bases, models.failed);
  if (!settings.server.firstChats) return;
  const loaded = bases.filter(({ engine }) => engine.status().state.kind === "ready");
  const names = loaded.map(({ model }) => model.name);
  await runWarmUp(names, http, { directory, bases: shelf, clock: tools.clock });
}
