// Builds what answers requests to models. Engines begin to load here and are waited for once HTTP is up.
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { createChatService } from "../../../inference/chat/complete-chat.ts";
import { createEmbeddingService } from "../../../inference/chat/embeddings/embedding-service.ts";
import { createRecorder } from "../../../inference/chat/recordings/recorder.ts";
import { createTokenizationService } from "../../../inference/chat/tokenization.ts";
import { WaitingPlaces } from "../../../inference/chat/waiting-places.ts";
import { createConstraintChecker } from "../../../inference/engine/constraint-check/constraint-checker.ts";
import { endEnginesAhead } from "../../../inference/engine/embedded-engine.ts";
import { createPromptExchange } from "../../../inference/kv-transfer/prompt-exchange.ts";
import type { HttpDependencies } from "../../../api/http/dependencies.ts";
import { requireOne } from "../bases/failed-bases.ts";
import { findBase } from "../bases/served-bases.ts";
import { unofferedConstraint } from "../constraints/unoffered.ts";
import { answerFirstChats } from "../warm-up.ts";
import type { Access } from "./access.ts";
import type { Ground, Start } from "./ground.ts";
import type { Models } from "./models.ts";

export async function buildServing(ground: Ground, models: Models, { usage, room }: Access, start: Start) {
  const { settings, database, telemetry, progress, build, tools } = ground;
  const { bases, failed, directory, shelf, adapters } = models;
  // The engines begin to load their models while HTTP is made ready. Each is waited for later, where it says what went wrong, and
  // stopped in that order. Here it ends if a start does not get that far, and so do the texts, which wait for prompts for a while
  // after an engine was let go.
  const beginning = serviceOf("bases that begin", {
    start: async () => {
      for (const { engine } of bases) engine.start().catch(() => undefined);
    },
    stop: async () =>
      void (await Promise.all(bases.flatMap(({ engine, texts }) => [engine.stop(), texts.stop()]))),
  });
  if (ground.isServing) await start(beginning);
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
  const places = new WaitingPlaces(settings.engine.waitingCountMax);
  const shared = { ...tools, places, directory, bases: shelf, adapters, usage };
  const chat = createChatService({ ...shared, exchange, recorder, genAi: telemetry.genAi });
  const embeddings = createEmbeddingService(shared);
  return {
    chat,
    embeddings,
    tokenization: createTokenizationService(shared),
    exchange,
    checkConstraint: async (name, constraint, { instances, ...options }) => {
      const unoffered = unofferedConstraint(constraint, models.engineOf(name));
      if (unoffered !== null) return unoffered;
      const { texts, release } = await findBase({ bases, failed }, name).texts.use();
      const asked = { name, vocabulary: texts.vocabulary };
      return checker.check(asked, constraint, instances, options).finally(release);
    },
  } satisfies Partial<HttpDependencies>;
}

/** Waits for the engines and answers a few chats of the server's own; to be called once HTTP is up. */
export async function loadBases(
  { settings, tools }: Ground,
  models: Models,
  http: HttpDependencies,
  start: Start,
) {
  const { bases, directory, shelf } = models;
  // A base that cannot be loaded says so in lists and to requests, and is in the log; the others are served.
  await Promise.all(bases.map(({ engine }) => start(engine).catch(() => undefined)));
  endEnginesAhead();
  // The prompt threads load the tokenizers once more, and do so when the engines take no processor for their start any more.
  await Promise.all(bases.map(({ texts }) => start(texts).catch(() => undefined)));
  requireOne(bases, models.failed);
  if (!settings.server.firstChats) return;
  const loaded = bases.filter(({ engine }) => engine.status().state.kind === "ready");
  const names = loaded.map(({ model }) => model.name);
  await answerFirstChats(names, http, { directory, bases: shelf, clock: tools.clock });
}
