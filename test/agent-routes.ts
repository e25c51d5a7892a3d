// Attempts of a caller to access another entity's rollouts, learning, uploads in parts, traces and Tinker API. See
// `entity-routes`.
import { get, post, type Attempt } from "./entity-routes.ts";
import type { Things } from "./two-entities.ts";

const conversation = { messages: [{ role: "user", content: "Hi" }], max_tokens: 1 };

/**
 * Returns requests with which the owner of `own` tries to access another entity's rollouts, learning, uploads, traces
 * and training sessions.
 */
export function agentAttempts(other: Things, own: Things): Readonly<Record<string, readonly Attempt[]>> {
  return {
    ...rolloutAttempts(other, own),
    ...uploadAttempts(other),
    ...learningAttempts(other),
    ...traceAttempts(other),
    ...tinkerAttempts(other, own),
  };
}

function rolloutAttempts(other: Things, own: Things): Readonly<Record<string, readonly Attempt[]>> {
  const route = "/v1/preview/models/:model_id/rollouts";
  const of = (model: Things, rest = ""): string => `/v1/preview/models/${model.modelId}/rollouts${rest}`;
  const foreignId = { status: 403, statusOfNone: 404 } as const;
  /** Attempts with another entity's model, and with the sender's own model and another entity's rollout. */
  const each = (rest: string, send: (url: string) => Attempt): readonly Attempt[] => [
    { ...send(of(other, `/${other.rolloutId}${rest}`)), ...foreignId },
    ...(own === other ? [] : [send(of(own, `/${other.rolloutId}${rest}`))]),
  ];
  const answered = { chat: conversation, text: { prompt: "Hi", max_tokens: 1 }, response: { input: "Hi" } };
  const calls = {
    "chat/completions": answered.chat,
    "chat/completions/": answered.chat,
    completions: answered.text,
    responses: answered.response,
    messages: answered.chat,
    "messages/count_tokens": answered.chat,
  };
  return {
    [`POST ${route}`]: [{ ...post(of(other), {}, 0), ...foreignId }],
    [`GET ${route}`]: [{ ...get(of(other), 0), ...foreignId }],
    [`GET ${route}/:rollout_id`]: each("", (url) => get(url, 404)),
    [`GET ${route}/:rollout_id/trajectories`]: each("/trajectories", (url) => get(url, 404)),
    ...Object.fromEntries(
      Object.entries(calls).map(([name, body]) => [
        `POST ${route}/:rollout_id/v1/${name}`,
        each(`/v1/${name}`, (url) => post(url, body, 404)),
      ]),
    ),
    ...Object.fromEntries(
      ["chat", "generate"].map((name) => [
        `POST ${route}/:rollout_id/api/${name}`,
        each(`/api/${name}`, (url) => post(url, { ...conversation, ...answered.text, stream: false }, 404)),
      ]),
    ),
    ...Object.fromEntries(
      ["models", "models/*", "preview/base-models"].map((name) => [
        `GET ${route}/:rollout_id/v1/${name}`,
        each(`/v1/${name.replace("*", "tiny")}`, (url) => get(url, 404)),
      ]),
    ),
    [`POST ${route}/:rollout_id/finish`]: each("/finish", (url) => post(url, { reward: 1 }, 404)),
    [`POST ${route}/:rollout_id/cancel`]: each("/cancel", (url) => ({
      ...post(url, {}, 404),
      // The owner has just finished the rollout.
      statusOfOwner: 409,
    })),
  };
}

function uploadAttempts({ uploadId }: Things): Readonly<Record<string, readonly Attempt[]>> {
  const order = { filename: "a", purpose: "fine-tune", bytes: 1, mime_type: "text/jsonl" };
  const part = '--xYz\r\ncontent-disposition: form-data; name="data"; filename="a"\r\n\r\na\r\n--xYz--\r\n';
  const uploading = { "content-type": "multipart/form-data; boundary=xYz" };
  const one = `/v1/uploads/${uploadId}`;
  return {
    "POST /v1/uploads": [post("/v1/uploads", order, 200)],
    "POST /v1/uploads/:upload_id/parts": [post(`${one}/parts`, part, 404, uploading)],
    "POST /v1/uploads/:upload_id/complete": [
      { ...post(`${one}/complete`, { part_ids: ["none"] }, 404), statusOfOwner: 422 },
    ],
    "POST /v1/uploads/:upload_id/cancel": [post(`${one}/cancel`, {}, 404)],
  };
}

function learningAttempts({ modelId }: Things): Readonly<Record<string, readonly Attempt[]>> {
  const route = "/v1/preview/models/:model_id/learning";
  const url = `/v1/preview/models/${modelId}/learning`;
  const foreignId = { status: 403, statusOfNone: 404 } as const;
  return {
    [`PUT ${route}`]: [{ ...post(url, { signals_min: 10_000 }, 0), ...foreignId, method: "PUT" }],
    [`GET ${route}`]: [{ ...get(url, 0), ...foreignId }],
    [`GET ${route}/cycles`]: [{ ...get(`${url}/cycles`, 0), ...foreignId }],
    [`DELETE ${route}`]: [{ ...get(url, 0), ...foreignId, method: "DELETE" }],
  };
}

function traceAttempts(other: Things): Readonly<Record<string, readonly Attempt[]>> {
  const projectId = `${other.entity}/${other.project}`;
  const score = { name: "quality", value: 1, traceId: "5b8efff798038103d269b633813fc60c", id: "score" };
  const event = { id: "event", type: "score-create", timestamp: "2026-01-01T00:00:00Z", body: score };
  const project = { "x-hone-project": projectId };
  return {
    "POST /v1/traces": [post("/v1/traces", { resourceSpans: [] }, 403, project)],
    // The user name of the Basic credentials names the project. The header does not.
    "POST /api/public/otel/v1/traces": [
      post("/api/public/otel/v1/traces", { resourceSpans: [] }, 200, project),
    ],
    "GET /api/public/projects": [get("/api/public/projects", 200)],
    "POST /api/public/scores": [post("/api/public/scores", score, 200)],
    "POST /api/public/ingestion": [
      { ...post("/api/public/ingestion", { batch: [event] }, 207), statusOfOwner: 207 },
    ],
    "POST /v1/preview/projects/:entity/:project/datasets/from-traces": [
      post(
        `/v1/preview/projects/${projectId}/datasets/from-traces`,
        { kind: "supervised", dry_run: true },
        403,
      ),
    ],
  };
}

function tinkerAttempts(other: Things, own: Things): Readonly<Record<string, readonly Attempt[]>> {
  const session = other.sessionId;
  const run = `${session}:train:0`;
  const path = `tinker://${run}/weights/first`;
  const model = { model_id: run, seq_id: 1 };
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1] }] };
  const weights = { data: [1], dtype: "float32", shape: [1] };
  const targets = { data: [1], dtype: "int64", shape: [1] };
  const datum = { model_input: prompt, loss_fn_inputs: { target_tokens: targets, weights } };
  const data = { data: [datum], loss_fn: "cross_entropy" };
  const runs = "/api/v1/training_runs";
  const checkpoint = `${runs}/:run_id/checkpoints/:kind/:checkpoint`;
  const saved = `${runs}/${encodeURIComponent(run)}/checkpoints/weights/first`;
  /** Nobody has a run of this name; the answer is the same for every entity. */
  const none = (attempt: Attempt): readonly Attempt[] => [{ ...attempt, statusOfOwner: attempt.status }];
  const usual = (attempt: Attempt): readonly Attempt[] => [attempt];
  const compute = (name: string, body: object) => none(post(`/api/v1/${name}`, body, 404));
  return {
    "GET /api/v1/healthz": usual(get("/api/v1/healthz", 200)),
    "POST /api/v1/client/config": usual(post("/api/v1/client/config", {}, 200)),
    "POST /api/v1/client/dynamic_config": usual(post("/api/v1/client/dynamic_config", {}, 200)),
    "GET /api/v1/get_server_capabilities": usual(get("/api/v1/get_server_capabilities", 200)),
    "POST /api/v1/telemetry": usual(post("/api/v1/telemetry", { session_id: session }, 200)),
    "POST /api/v1/create_session": usual(post("/api/v1/create_session", { tags: [] }, 200)),
    "POST /api/v1/session_heartbeat": usual(post("/api/v1/session_heartbeat", { session_id: session }, 404)),
    "GET /api/v1/sessions": usual(get("/api/v1/sessions", 200)),
    "GET /api/v1/sessions/:session_id": usual(get(`/api/v1/sessions/${session}`, 404)),
    "POST /api/v1/create_sampling_session": usual(
      post(
        "/api/v1/create_sampling_session",
        { session_id: session, sampling_session_seq_id: 1, base_model: "tiny" },
        404,
      ),
    ),
    "GET /api/v1/samplers/:sampler_id": usual(
      get(`/api/v1/samplers/${encodeURIComponent(other.samplerId)}`, 404),
    ),
    "POST /api/v1/create_model": none(
      post(
        "/api/v1/create_model",
        { session_id: own === other ? "none" : session, model_seq_id: 0, base_model: "tiny" },
        404,
      ),
    ),
    "POST /api/v1/get_info": compute("get_info", { model_id: run }),
    "POST /api/v1/weights_info": compute("weights_info", { tinker_path: path }),
    "POST /api/v1/save_weights": compute("save_weights", { ...model, path: "first" }),
    "POST /api/v1/save_weights_for_sampler": compute("save_weights_for_sampler", { ...model, path: "first" }),
    "POST /api/v1/save_weights_external": compute("save_weights_external", { ...model, path: "first" }),
    "POST /api/v1/load_weights": compute("load_weights", { ...model, path, optimizer: false }),
    "POST /api/v1/unload_model": compute("unload_model", { model_id: run }),
    "POST /api/v1/optim_step": compute("optim_step", { ...model, adam_params: { learning_rate: 0.1 } }),
    "POST /api/v1/forward": compute("forward", { ...model, forward_input: data }),
    "POST /api/v1/forward_backward": compute("forward_backward", { ...model, forward_backward_input: data }),
    "POST /api/v1/retrieve_future": compute("retrieve_future", { request_id: `${session}:1` }),
    "POST /api/v1/asample": [
      {
        ...post(
          "/api/v1/asample",
          { sampling_session_id: other.samplerId, seq_id: 1, prompt, sampling_params: { max_tokens: 1 } },
          404,
        ),
      },
    ],
    "GET /api/v1/checkpoints": usual(get("/api/v1/checkpoints", 200)),
    [`GET ${runs}`]: usual(get(runs, 200)),
    [`GET ${runs}/:run_id`]: none(get(`${runs}/${encodeURIComponent(run)}`, 404)),
    [`GET ${runs}/:run_id/checkpoints`]: none(get(`${runs}/${encodeURIComponent(run)}/checkpoints`, 404)),
    [`DELETE ${checkpoint}`]: none({ method: "DELETE", url: saved, status: 404 }),
    [`PUT ${checkpoint}/ttl`]: none({
      method: "PUT",
      url: `${saved}/ttl`,
      body: { ttl_seconds: 3600 },
      status: 404,
    }),
    [`GET ${checkpoint}/external_weights_urls`]: none(get(`${saved}/external_weights_urls`, 404)),
    [`GET ${checkpoint}/archive`]: none(get(`${saved}/archive`, 404)),
    "POST /api/v1/sessions/:session_id/finish": usual(post(`/api/v1/sessions/${session}/finish`, {}, 404)),
  };
}
