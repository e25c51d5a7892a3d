// A server with all kinds of objects of several entities: models, versions, jobs with events, logs, feedback. The
// objects are created over the server's own routes. Stores and services are real, the engine is the naive one, and
// nothing is trained.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import type { LightMyRequestResponse } from "fastify";
import { dataFolderAt } from "../src/store/artifacts/testing/data-folder.ts";
import { plainReplies } from "../src/inference/chat/testing/plain-replies.ts";
import { createChatService } from "../src/inference/chat/complete-chat.ts";
import { createEmbeddingService } from "../src/inference/chat/embeddings/embedding-service.ts";
import { createTokenizationService } from "../src/inference/chat/tokenization.ts";
import { noDefaults } from "../src/inference/chat/testing/no-defaults.ts";
import { directPrompts } from "../src/inference/chat/testing/direct-prompts.ts";
import { servedBases } from "../src/inference/chat/testing/served-bases.ts";
import { freshKey, hashSecret, type KeyRole } from "../src/base/domain/access.ts";
import { packVocabulary } from "../src/base/domain/vocabulary.ts";
import { systemClock } from "../src/base/domain/clock.ts";
import { newUuid } from "../src/base/domain/random.ts";
import { NaiveEngine } from "../src/inference/engine/testing/naive-engine.ts";
import { createFeedbackService } from "../src/judge/feedback/feedback-service.ts";
import { basic, bearer, fakeServer, playJob } from "../src/api/http/testing/fake-server.ts";
import { createRecorder } from "../src/inference/chat/recordings/recorder.ts";
import { recordingSettings } from "../src/inference/chat/recordings/settings.ts";
import { createModelDirectory } from "../src/inference/models/registry/model-directory.ts";
import { sampleFineTuning } from "../src/store/database/contract/fine-tuning-store.ts";
import type { Stores } from "../src/store/database/stores.ts";
import { silentLogger } from "../src/base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../src/base/telemetry/metrics.ts";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";

/** Names and ids of one entity's objects that a request could contain. */
export interface Things {
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly modelId: string;
  readonly versionId: string;
  readonly logId: string;
  /** An ended job with events. */
  readonly endedJobId: string;
  /** A queued job. */
  readonly jobId: string;
  readonly eventId: string;
  readonly feedbackId: string;
  readonly queueId: string;
  readonly itemId: string;
  readonly fileId: string;
  /** A pending upload in parts. */
  readonly uploadId: string;
  /** A fine-tuning job whose training job has ended. */
  readonly fineTuningId: string;
  /** A reward rule. */
  readonly ruleId: string;
  /** An open rollout. */
  readonly rolloutId: string;
  /** A session of the Tinker API. */
  readonly sessionId: string;
  /** A sampling session in it. */
  readonly samplerId: string;
  readonly webhookId: string;
  /** Id of a delivery of the webhook. */
  readonly deliveryId: string;
  readonly requestId: string;
  readonly idempotencyKey: string;
}

export interface Request {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the request: an object is sent as JSON, a string unchanged. */
  readonly body?: object | string;
}

export interface World {
  readonly server: Awaited<ReturnType<typeof fakeServer>>;
  /** Sends a request with this key, or without a key if it is null. */
  ask(request: Request, key: string | null): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

/** Routes to which the key is sent as Basic credentials, such as those for feedback. */
const weaveRoutes =
  /^\/(feedback|annotation_queues|objs?|refs|tables?|files?|calls?|v2|api\/public)\b|^\/(graphql|server_info)\b/;

const folder = "test/fixtures/goldens/models/qwen3";
const tokenizer = await loadTokenizer(folder);
const prompts = await directPrompts(folder);

/** Returns the API key of an entity; `admin` is the administrator of every server. */
export const keyOf = (entity: string): string => `hone_${entity}`;

/** Starts a server with a key for each entity and no other content. */
export async function newWorld(entities: readonly string[]): Promise<World> {
  const engine = new NaiveEngine({ modelFolder: folder, vocabulary: packVocabulary([]), waitingCountMax: 8 });
  await engine.start();
  const services = (stores: Stores) => ({
    ...chatOver(engine, stores),
    feedback: createFeedbackService({
      store: stores.feedback,
      queues: stores.annotation,
      specs: stores.objects,
      clock: systemClock,
    }),
  });
  const server = await fakeServer({ services, settings: { failedLoginsPerMinute: 1_000_000 } });
  for (const entity of entities) await addKey(server, entity, "member");
  return {
    server,
    ask: ({ method, url, headers = {}, body }, key) => {
      const scheme = weaveRoutes.test(url) ? basic : bearer;
      return server.ask({
        method,
        url,
        headers: { ...headers, ...(key === null ? {} : { authorization: scheme(key) }) },
        ...(body === undefined ? {} : { payload: body }),
      });
    },
    close: async () => {
      await server.close();
      await engine.stop();
    },
  };
}

async function addKey(server: World["server"], entity: string, role: KeyRole): Promise<void> {
  const key = { id: `key-${entity}`, entity, role, owner: entity, secretHash: hashSecret(keyOf(entity)) };
  await server.keyStore.create({ ...freshKey, ...key, createdAt: new Date(0) });
}

function chatOver(engine: NaiveEngine, { models: store, completions }: Stores) {
  const directory = createModelDirectory({
    store,
    bases: ["tiny"],
    weightsOf: () => null,
    defaultBase: "tiny",
    artifacts: dataFolderAt(folder).artifacts,
    useVersion: async () => true,
    build: "test",
  });
  const defaults = noDefaults([2]);
  const base = {
    model: { name: "tiny", folder },
    engine,
    prompts,
    tokenizer,
    defaults,
    replies: plainReplies,
    contextLength: 128,
  };
  const metrics = createMetrics({ processMetrics: false });
  const over = { directory, bases: servedBases(base), metrics };
  const shared = { clock: systemClock, metrics, logger: silentLogger };
  const recorder = createRecorder({ store: completions, settings: recordingSettings.with(), ...shared });
  return {
    chat: createChatService({ ...over, ...shared, recorder }),
    tokenization: createTokenizationService(over),
    embeddings: createEmbeddingService(over),
  };
}

/** Returns names for an entity's objects, and ids that do not exist yet. */
export function namesOf(entity: string): Things {
  const [endedJobId, sessionId] = [newUuid(), newUuid()];
  return {
    entity,
    project: `project-${entity}`,
    name: `model-${entity}`,
    modelId: newUuid(),
    versionId: `version-${entity}`,
    logId: newUuid(),
    endedJobId,
    jobId: newUuid(),
    eventId: `${endedJobId}:0`,
    feedbackId: `feedback-${entity}`,
    queueId: newUuid(),
    itemId: newUuid(),
    fileId: `file-${newUuid()}`,
    uploadId: `upload_${newUuid()}`,
    fineTuningId: `ftjob-${newUuid()}`,
    ruleId: newUuid(),
    rolloutId: newUuid(),
    sessionId,
    samplerId: `${sessionId}:sample:0`,
    webhookId: newUuid(),
    deliveryId: `msg_${newUuid()}`,
    requestId: `request-${entity}`,
    idempotencyKey: `idempotency-${entity}`,
  };
}

/** Creates all kinds of objects for each entity, with the entity's own key. */
export async function fill(world: World, entities: readonly string[]): Promise<readonly Things[]> {
  const filled: Things[] = [];
  for (const entity of entities) filled.push(await fillOne(world, namesOf(entity)));
  // Creates the queued jobs last, because `fillOne` runs the oldest waiting job.
  return await Promise.all(filled.map((things) => withQueuedJob(world, things)));
}

async function fillOne(world: World, names: Things): Promise<Things> {
  const { project, name, entity, feedbackId } = names;
  const post = (url: string, body: object) => send(world, entity, { method: "POST", url, body });
  const get = (url: string) => send(world, entity, { method: "GET", url });
  const { id: modelId } = await post("/v1/preview/models", { project, name, base_model: "tiny" });
  const { id: endedJobId } = await post("/v1/preview/training-jobs", jobOf({ ...names, modelId }));
  const started = { type: "training_started", data: { num_sequences: 1 } } as const;
  await playJob(world.server, { step: 1, events: [started], versionId: names.versionId });
  await post(`/v1/preview/models/${modelId}/log`, { trajectory_groups: groupsOf(names) });
  await post("/v1/chat/completions", {
    model: `${project}/${name}:step0`,
    messages: [{ role: "user", content: `said by ${entity}` }],
    request_id: names.requestId,
    max_tokens: 2,
  });
  const hook = { url: "http://127.0.0.1:1/", events: ["feedback.created"] };
  const { id: webhookId } = await post("/v1/preview/webhooks", hook);
  await post("/feedback/create", recordOf(names));
  await post("/feedback/replace", {
    ...recordOf(names),
    feedback_id: feedbackId,
    payload: { said: "again" },
  });
  const projectId = `${entity}/${project}`;
  const { id: queueId } = await post("/annotation_queues", {
    project_id: projectId,
    name: `queue-${entity}`,
  });
  const queue = `/annotation_queues/${queueId}`;
  await post(`${queue}/items`, { project_id: projectId, call_ids: [names.requestId] });
  const { item } = await post(`${queue}/claim`, { project_id: projectId });
  const logs = await get(`/v1/preview/models/${modelId}/metrics`);
  const events = await get(`/v1/preview/training-jobs/${endedJobId}/events`);
  const { id: fileId } = await uploadFor(world, names);
  const order = { filename: `of ${entity}`, purpose: "fine-tune", bytes: 1, mime_type: "text/jsonl" };
  const { id: uploadId } = await post("/v1/uploads", order);
  const [{ id: deliveryId }] = (await get(`/v1/preview/webhooks/${webhookId}/deliveries`)).data;
  const { id: ruleId } = await post("/v1/preview/reward-rules", ruleOf({ ...names, modelId }));
  const { rollout_id: rolloutId } = await post(`/v1/preview/models/${modelId}/rollouts`, {
    task: `said by ${entity}`,
    version: 0,
  });
  const { session_id: sessionId } = await post("/api/v1/create_session", {
    tags: [],
    type: "create_session",
  });
  const sampling = { session_id: sessionId, sampling_session_seq_id: 0, base_model: "tiny" };
  const { sampling_session_id: samplerId } = await post("/api/v1/create_sampling_session", sampling);
  await world.server.fineTuning.create(
    sampleFineTuning(names.fineTuningId, { entity, project, modelId, trainingJobId: endedJobId }),
  );
  return {
    ...names,
    modelId,
    endedJobId,
    logId: logs.data[0].id,
    eventId: events.data[0].id,
    fileId,
    uploadId,
    ruleId,
    rolloutId,
    sessionId,
    samplerId,
    queueId,
    itemId: item.id,
    webhookId,
    deliveryId,
  };
}

async function uploadFor({ server }: World, { entity, name }: Things): Promise<{ readonly id: string }> {
  const received = await server.files.receive(Readable.from([Buffer.from(`said by ${entity}`)]));
  return server.files.keep(received, { entity, name, purpose: "fine-tune" });
}

async function withQueuedJob(world: World, things: Things): Promise<Things> {
  const headers = { "idempotency-key": things.idempotencyKey };
  const request = { method: "POST", url: "/v1/preview/training-jobs", headers, body: jobOf(things) } as const;
  const { id } = await send(world, things.entity, request);
  return { ...things, jobId: id };
}

async function send(world: World, entity: string, request: Request): Promise<any> {
  const answer = await world.ask(request, keyOf(entity));
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json();
}

export function groupsOf({ entity }: Pick<Things, "entity">): readonly object[] {
  return [{ trajectories: [{ messages_and_choices: [{ role: "user", content: `said by ${entity}` }] }] }];
}

export function jobOf({ entity, modelId }: Pick<Things, "entity" | "modelId">): object {
  return { model_id: modelId, trajectory_groups: groupsOf({ entity }) };
}

/** Returns a reward rule in the entity's project that trains the entity's model automatically. */
export function ruleOf({ project, name, modelId }: Pick<Things, "project" | "name" | "modelId">): object {
  return { project, name, terms: rewardTerms, standing: { model_id: modelId } };
}

export const rewardTerms = [{ kind: "reaction", rewards: { "👍": 1 } }] as const;

/** Returns a feedback record in the entity's project. */
export function recordOf({ entity, project, feedbackId }: Things, id = feedbackId): object {
  return {
    project_id: `${entity}/${project}`,
    vendor_ref: `w:///${entity}/${project}/call/1`,
    feedback_type: "any",
    payload: { said: `by ${entity}` },
    id,
  };
}
