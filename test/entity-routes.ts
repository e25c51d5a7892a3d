// Requests to every route of the API by a caller who knows ids of another entity. They try each id in each field that
// takes one, in each form that the API accepts. Each request has its expected status; the test fails if a route is
// missing here.
import { agentAttempts } from "./agent-routes.ts";
import { ollamaAttempts } from "./ollama-routes.ts";
import { groupsOf, jobOf, recordOf, type Request, rewardTerms, ruleOf, type Things } from "./two-entities.ts";

/** A request with which a caller tries to reach an object of another entity. */
export interface Attempt extends Request {
  /** Expected status if the objects in the request belong to another entity. */
  readonly status: number;
  /**
   * Expected status if the objects in the request do not exist; absent if it equals `status`. The two differ only for
   * ids of models.
   */
  readonly statusOfNone?: number;
  /** Expected status if the objects belong to the sender of the request; absent if it is 200. */
  readonly statusOfOwner?: number;
}

const models = "/v1/preview/models";
const jobs = "/v1/preview/training-jobs";
const rules = "/v1/preview/reward-rules";
const fineTuning = "/v1/fine_tuning/jobs";
const webhooks = "/v1/preview/webhooks";
const keys = "/v1/preview/keys";

/**
 * Expected statuses for another entity's model id: 403, and 404 if no model has the id. For a model's name, the answer
 * does not depend on whether another entity has a model of that name.
 */
const foreignId = { status: 403, statusOfNone: 404 } as const;

/** Routes without credentials, which do not depend on entities. HEAD is covered by GET. */
export const openRoutes: readonly string[] = [
  "GET /health",
  "GET /v1/health",
  "GET /ping",
  "GET /load",
  "GET /v1/system-check",
  "GET /metrics",
  "GET /version",
  // For other servers, which sign their requests with a separate secret.
  "POST /v1/kv-transfers",
  // For clients with a link, which contains a secret.
  "GET /api/v1/external_weights/:link_secret/:file_name",
  "GET /openapi.json",
  "GET /",
  "GET /assets/:name",
  "GET /guide",
  "GET /guide/*",
  "GET /docs",
  "GET /docs/",
  "GET /docs/*",
  "GET /docs/json",
  "GET /docs/yaml",
  "GET /docs/static/index.html",
  "GET /docs/static/swagger-initializer.js",
  "GET /docs/static/theme/theme.js",
];

/**
 * Returns requests with which the owner of `own` tries to access another entity's things. The keys are method and
 * route, as the server registers them.
 */
export function attemptsWith(other: Things, own: Things): Readonly<Record<string, readonly Attempt[]>> {
  return {
    ...agentAttempts(other, own),
    ...ollamaAttempts(other),
    "POST /v1/chat/completions": answers(other, "/v1/chat/completions", conversation),
    "POST /v1/chat/completions/": answers(other, "/v1/chat/completions/", conversation),
    "POST /tokenize": answers(other, "/tokenize", { prompt: "Hi" }),
    "POST /detokenize": answers(other, "/detokenize", { tokens: [1] }),
    "POST /v1/completions": answers(other, "/v1/completions", { prompt: ["Hi", "Ho"] }),
    "POST /v1/responses": answers(other, "/v1/responses", { input: "Hi" }),
    "POST /v1/messages": answers(other, "/v1/messages", conversation),
    "POST /v1/messages/count_tokens": answers(other, "/v1/messages/count_tokens", conversation),
    "POST /v1/embeddings": answers(other, "/v1/embeddings", { input: ["Hi", "Ho"] }),
    "POST /v1/preview/structured-outputs/check": answers(other, "/v1/preview/structured-outputs/check", {
      structured_outputs: { json: {} },
    }),
    "GET /v1/chat/completions": [
      get(`/v1/chat/completions?metadata[said]=${other.name}&entity=${other.entity}`, 200),
      get(`/v1/chat/completions?request_id=${other.requestId}`, 200),
      get(`/v1/chat/completions?project=${encodeURIComponent(projectOf(other))}`, 403),
      get(`/v1/chat/completions?after=chatcmpl-${other.requestId}`, 422),
      ...modelNames(other).map(({ name, ...status }) => ({
        ...get(`/v1/chat/completions?model=${encodeURIComponent(name)}`, 0),
        ...status,
      })),
      ...cursors(other).map((after) => get(`/v1/chat/completions?after=${after}`, 422)),
    ],
    "GET /v1/chat/completions/:request_id": recordedAttempts(other, "GET", "/v1/chat/completions"),
    "GET /v1/chat/completions/:request_id/messages": recordedIds(other).map((id) =>
      get(`/v1/chat/completions/${id}/messages`, 404),
    ),
    "DELETE /v1/chat/completions/:request_id": recordedAttempts(other, "DELETE", "/v1/chat/completions"),
    "GET /v1/models": lists("/v1/models", other),
    "GET /v1/models/*": modelNames(other).map(({ name, ...status }) => ({
      ...get(`/v1/models/${encodeURIComponent(name)}`, 0),
      ...status,
    })),
    // No model has this version, so that the owner's own attempt deletes nothing either.
    "DELETE /v1/models/*": modelNames(other)
      .filter(({ name }) => name.endsWith(":step9"))
      .map(({ name, ...status }) => ({
        method: "DELETE",
        url: `/v1/models/${encodeURIComponent(name)}`,
        ...status,
        statusOfOwner: 404,
      })),
    // No field of this request can contain an id or name of another entity.
    "POST /v1/files": [post("/v1/files", upload, 200, uploading)],
    "GET /v1/files": [
      ...lists("/v1/files", other),
      ...[...cursors(other), other.fileId].map((after) => get(`/v1/files?after=${after}`, 422)),
    ],
    "POST /v1/fine_tuning/jobs": [
      ...modelNames(other).map(({ name, ...status }) => ({
        ...post(fineTuning, { model: name, training_file: own.fileId }, 0),
        ...status,
        statusOfOwner: 422,
      })),
      ...[other.fileId, other.fileId.toUpperCase(), `hone-file://${other.fileId}`].map((id) => ({
        ...post(fineTuning, { model: "tiny", training_file: id }, 404),
        statusOfOwner: 422,
      })),
    ],
    "GET /v1/fine_tuning/jobs": [
      ...lists(fineTuning, other),
      ...[...cursors(other), other.fineTuningId].map((after) => get(`${fineTuning}?after=${after}`, 422)),
    ],
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id": ofFineTuning(other, (id) =>
      get(`${fineTuning}/${id}`, 404),
    ),
    "POST /v1/fine_tuning/jobs/:fine_tuning_job_id/cancel": ofFineTuning(other, (id) => ({
      ...post(`${fineTuning}/${id}/cancel`, {}, 404),
      statusOfOwner: 409,
    })),
    ...Object.fromEntries(
      ["pause", "resume"].map((action) => [
        `POST /v1/fine_tuning/jobs/:fine_tuning_job_id/${action}`,
        ofFineTuning(other, (id) => ({
          ...post(`${fineTuning}/${id}/${action}`, {}, 404),
          statusOfOwner: 409,
        })),
      ]),
    ),
    "POST /v1/fine_tuning/alpha/graders/run": modelNames(other).map(({ name: model, ...status }) => ({
      ...post("/v1/fine_tuning/alpha/graders/run", { grader: judgeOf(model), model_sample: "x" }, 0),
      ...status,
    })),
    "POST /v1/fine_tuning/alpha/graders/validate": [
      post("/v1/fine_tuning/alpha/graders/validate", { grader: judgeOf(fullNameOf(other)) }, 200),
    ],
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id/events": ofFineTuning(other, (id) =>
      get(`${fineTuning}/${id}/events`, 404),
    ),
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id/checkpoints": ofFineTuning(other, (id) =>
      get(`${fineTuning}/${id}/checkpoints`, 404),
    ),
    "GET /v1/files/:file_id": ofFile(other, (id) => get(`/v1/files/${id}`, 404)),
    "GET /v1/files/:file_id/content": ofFile(other, (id) => get(`/v1/files/${id}/content`, 404)),
    "DELETE /v1/files/:file_id": ofFile(other, (id) => ({
      ...get(`/v1/files/${id}`, 404),
      method: "DELETE",
    })),
    "GET /v1/preview/webhooks": [
      ...lists(webhooks, other),
      ...[...cursors(other), other.webhookId, other.deliveryId].map((after) =>
        get(`${webhooks}?after=${after}`, 422),
      ),
    ],
    "POST /v1/preview/webhooks": [
      hook({ entity: other.entity }, 403),
      hook({ entity: other.entity.toUpperCase() }, 403),
      hook({ project_id: projectOf(other) }, 403),
      hook({}, 200),
    ],
    "GET /v1/preview/webhooks/:webhook_id": ofWebhook(other, (id) => get(`${webhooks}/${id}`, 404)),
    "POST /v1/preview/webhooks/:webhook_id": [
      ...ofWebhook(other, (id) => post(`${webhooks}/${id}`, { records_max: 1 }, 404)),
      post(`${webhooks}/${own.webhookId}`, { project_id: projectOf(other) }, 403),
    ],
    "GET /v1/preview/webhooks/:webhook_id/deliveries": [
      ...ofWebhook(other, (id) => get(`${webhooks}/${id}/deliveries`, 404)),
      get(`${webhooks}/${own.webhookId}/deliveries?after=${other.deliveryId}`, 422),
    ],
    "POST /v1/preview/webhooks/:webhook_id/replay": [
      ...ofWebhook(other, (id) => ({
        ...post(`${webhooks}/${id}/replay`, { delivery_id: other.deliveryId }, 404),
        // The owner gets 409, because the message is still waiting to be sent.
        statusOfOwner: 409,
      })),
      post(`${webhooks}/${own.webhookId}/replay`, { delivery_id: other.deliveryId }, 404),
    ],
    "GET /v1/preview/base-models": lists("/v1/preview/base-models", other),
    "GET /v1/preview/key": lists("/v1/preview/key", other),
    "GET /v1/preview/summary": lists("/v1/preview/summary", other),
    ...keyAttempts(other),
    "GET /v1/preview/models": [...lists(models, other), get(`${models}?after=${other.modelId}`, 422)],
    "POST /v1/preview/models": registrations(other, own),
    "GET /v1/preview/models/:model_id": ofModel(other, (id) => get(`${models}/${id}`, 200)),
    "GET /v1/preview/models/:model_id/checkpoints": [
      ...ofModel(other, (id) => get(`${models}/${id}/checkpoints?after=${other.versionId}`, 200)),
      ...cursors(other).map((after) => get(`${models}/${own.modelId}/checkpoints?after=${after}`, 422)),
    ],
    "GET /v1/preview/models/:model_id/checkpoints/:step/sources": [
      ...ofModel(other, (id) => get(`${models}/${id}/checkpoints/1/sources`, 200)),
      ...cursors(other).map((after) =>
        get(`${models}/${own.modelId}/checkpoints/1/sources?after=${after}`, 422),
      ),
    ],
    "DELETE /v1/preview/models/:model_id/checkpoints": ofModel(other, (id) => ({
      ...post(`${models}/${id}/checkpoints`, { steps: [0, 1] }, 200),
      method: "DELETE",
    })),
    "POST /v1/preview/models/:model_id/checkpoints": ofModel(other, (id) =>
      post(`${models}/${id}/checkpoints`, Buffer.alloc(1024), 200, { "content-type": "application/x-tar" }),
    ),
    "GET /v1/preview/models/:model_id/checkpoints/:step": ofModel(other, (id) =>
      get(`${models}/${id}/checkpoints/0`, 200),
    ),
    "GET /v1/preview/models/:model_id/checkpoints/:step/export": ofModel(other, (id) =>
      get(`${models}/${id}/checkpoints/0/export?format=merged`, 200),
    ),
    ...Object.fromEntries(
      (["PUT", "DELETE"] as const).map((method) => [
        `${method} /v1/preview/models/:model_id/checkpoints/:step/pin`,
        ofModel(other, (id) => ({ ...get(`${models}/${id}/checkpoints/0/pin`, 200), method })),
      ]),
    ),
    "POST /v1/preview/models/:model_id/accept-base": ofModel(other, (id) => ({
      ...get(`${models}/${id}/accept-base`, 200),
      method: "POST",
    })),
    "POST /v1/preview/models/:model_id/log": [
      ...ofModel(other, (id) => post(`${models}/${id}/log`, { trajectory_groups: groupsOf(own) }, 200)),
      ...ofModel(other, (id) => post(`${models}/${id}/log`, { split: 1 }, 200)),
    ],
    ...Object.fromEntries(
      ["trajectories", "metrics"].map((list) => [
        `GET /v1/preview/models/:model_id/${list}`,
        [
          ...ofModel(other, (id) => get(`${models}/${id}/${list}`, 200)),
          ...ofModel(other, (id) => get(`${models}/${id}/${list}?after=${other.logId}`, 200)),
          ...cursors(other).map((after) => get(`${models}/${own.modelId}/${list}?after=${after}`, 422)),
        ],
      ]),
    ),
    "GET /v1/preview/models/:model_id/trajectories/rows": [
      ...["logs", "jobs"].flatMap((source) =>
        ofModel(other, (id) => get(`${models}/${id}/trajectories/rows?source=${source}`, 200)),
      ),
      ...[`log_id=${other.logId}`, `job_id=${other.endedJobId}`].map((query) =>
        get(`${models}/${own.modelId}/trajectories/rows?${query}`, 200),
      ),
      ...cursors(other).map((after) =>
        get(`${models}/${own.modelId}/trajectories/rows?after=${after}.0.0.0`, 422),
      ),
    ],
    "GET /v1/preview/models/:model_id/trajectories/outlines": [
      ...ofModel(other, (id) => get(`${models}/${id}/trajectories/outlines`, 200)),
      ...cursors(other).map((after) =>
        get(`${models}/${own.modelId}/trajectories/outlines?after=${after}`, 422),
      ),
    ],
    "GET /v1/preview/models/:model_id/trajectories/counts": ofModel(other, (id) =>
      get(`${models}/${id}/trajectories/counts`, 200),
    ),
    "GET /v1/preview/models/:model_id/trajectories/:number": ofModel(other, (id) =>
      get(`${models}/${id}/trajectories/1`, 200),
    ),
    "GET /v1/preview/models/:model_id/trajectories/export": ofModel(other, (id) =>
      get(`${models}/${id}/trajectories/export?format=jsonl`, 200),
    ),
    "GET /v1/preview/training-jobs": [
      ...lists(jobs, other),
      ...modelIds(other).map((id) => ({ ...get(`${jobs}?model_id=${id}`, 0), ...foreignId })),
      ...otherIds(other).map((id) => get(`${jobs}?model_id=${id}`, 404)),
      ...cursors(other).map((after) => get(`${jobs}?after=${after}`, 422)),
      ...cursors(other).map((after) => get(`${jobs}?model_id=${own.modelId}&after=${after}`, 422)),
    ],
    "POST /v1/preview/training-jobs": creations(other, own),
    "POST /v1/preview/sft-training-jobs": [
      ...creations(other, own, (modelId) => teach({ model_id: modelId, training_data: examples }, 0)).filter(
        // Excludes attempts with an idempotency key. The key works for jobs of every kind, so such attempts would only
        // repeat those above.
        ({ headers }) => headers?.["idempotency-key"] === undefined,
      ),
      ...[other.fileId, other.fileId.toUpperCase(), `hone-file://${other.fileId}`].map((url) =>
        teach({ model_id: own.modelId, training_data_url: url }, 404),
      ),
      teach({ model_id: own.modelId, training_data_url: other.jobId }, 422),
    ],
    "POST /v1/preview/preference-training-jobs": [
      ...creations(other, own, (modelId) => prefer({ model_id: modelId, pairs }, 0)).filter(
        ({ headers }) => headers?.["idempotency-key"] === undefined,
      ),
      ...[other.fileId, other.fileId.toUpperCase(), `hone-file://${other.fileId}`].map((fileId) =>
        prefer({ model_id: own.modelId, file_id: fileId }, 404),
      ),
      prefer({ model_id: own.modelId, file_id: other.jobId }, 422),
    ],
    "GET /v1/preview/training-jobs/:job_id": ofJob(other, (id) => get(`${jobs}/${id}`, 404)),
    "POST /v1/preview/training-jobs/:job_id/cancel": ofJob(other, (id) => ({
      method: "POST",
      url: `${jobs}/${id}/cancel`,
      status: 404,
    })),
    "POST /v1/preview/training-jobs/:job_id/replay": ofJob(other, (id) => ({
      method: "POST",
      url: `${jobs}/${id}/replay`,
      status: 404,
      // The owner gets 409, because the job has not succeeded.
      statusOfOwner: 409,
    })),
    "POST /v1/preview/training-jobs/:job_id/retry": ofJob(other, (id) => ({
      method: "POST",
      url: `${jobs}/${id}/retry`,
      status: 404,
    })),
    "GET /v1/preview/training-jobs/:job_id/events": [
      ...ofJob(other, (id) => get(`${jobs}/${id}/events`, 404)),
      ...ofJob(other, (id) => get(`${jobs}/${id}/events?after=${other.eventId}`, 404, watching)),
      ...cursors(other).map((after) => get(`${jobs}/${own.endedJobId}/events?after=${after}`, 422)),
      // The refusal is sent as an event of the stream.
      get(`${jobs}/${own.endedJobId}/events?after=${other.eventId}`, 200, watching),
    ],
    "POST /v1/preview/training-jobs/from-feedback": [
      ...creations(other, own, (modelId) => post(`${jobs}/from-feedback`, fromFeedback(modelId), 0)).filter(
        ({ headers }) => headers?.["idempotency-key"] === undefined,
      ),
      ...[other.ruleId, other.ruleId.toUpperCase(), other.modelId].map((id) =>
        post(`${jobs}/from-feedback`, { model_id: own.modelId, rule_id: id }, 404),
      ),
    ],
    "POST /v1/preview/preference-training-jobs/from-feedback": [
      ...creations(other, own, (modelId) => prefer(fromFeedback(modelId), 0, "/from-feedback")).filter(
        ({ headers }) => headers?.["idempotency-key"] === undefined,
      ),
      ...[other.ruleId, other.ruleId.toUpperCase(), other.modelId].map((id) =>
        prefer({ model_id: own.modelId, rule_id: id }, 404, "/from-feedback"),
      ),
    ],
    "GET /v1/preview/reward-rules": [
      ...lists(rules, other),
      get(`${rules}?model_id=${other.modelId}`, 200),
      ...[...cursors(other), other.ruleId].map((after) => get(`${rules}?after=${after}`, 422)),
    ],
    "POST /v1/preview/reward-rules": [
      post(rules, { ...ruleOf(own), name: "another", entity: other.entity }, 403),
      ...[other.modelId, other.modelId.toUpperCase()].map((id) =>
        post(rules, { ...ruleOf({ ...own, modelId: id }), name: "foreign" }, 404),
      ),
      post(rules, { ...ruleOf({ ...own, modelId: other.modelId }), project: other.project }, 404),
    ],
    "GET /v1/preview/reward-rules/:rule_id": ofRule(other, (id) => get(`${rules}/${id}`, 404)),
    "PUT /v1/preview/reward-rules/:rule_id": [
      ...ofRule(other, (id) => ({
        ...post(`${rules}/${id}`, ruleOf(other), 404),
        method: "PUT",
      })),
      {
        ...post(`${rules}/${own.ruleId}`, { ...ruleOf({ ...own, modelId: other.modelId }) }, 404),
        method: "PUT",
      },
    ],
    ...Object.fromEntries(
      ["pause", "resume"].map((action) => [
        `POST /v1/preview/reward-rules/:rule_id/${action}`,
        ofRule(other, (id) => ({ ...get(`${rules}/${id}/${action}`, 404), method: "POST" })),
      ]),
    ),
    "DELETE /v1/preview/reward-rules/:rule_id": ofRule(other, (id) => ({
      ...get(`${rules}/${id}`, 404),
      method: "DELETE",
    })),
    "POST /feedback/history": [
      ...projects(other).map(({ projectId, status }) =>
        post("/feedback/history", { project_id: projectId, feedback_id: other.feedbackId }, status),
      ),
      ...[other.feedbackId, other.modelId, other.jobId].map((id) =>
        post("/feedback/history", { project_id: projectOf(own), feedback_id: id }, 404),
      ),
    ],
    ...Object.fromEntries(
      ["query", "purge"].map((route) => [
        `POST /feedback/${route}`,
        projects(other).map(({ projectId, status }) => {
          const [field, value] = route === "query" ? ["weave_ref", "w:///a/b/call/1"] : ["id", "nothing"];
          const query = { $expr: { $eq: [{ $getField: field }, { $literal: value }] } };
          return post(`/feedback/${route}`, { project_id: projectId, query }, status);
        }),
      ]),
    ),
    "POST /obj/create": projects(other).map(({ projectId, status }) =>
      post("/obj/create", { obj: { project_id: projectId, object_id: "o", val: 1 } }, status),
    ),
    "POST /objs/query": projects(other).map(({ projectId, status }) =>
      post("/objs/query", { project_id: projectId }, status),
    ),
    ...Object.fromEntries(
      ["read", "delete"].map((route) => [
        `POST /obj/${route}`,
        projects(other).map(({ projectId, status }) => {
          const none = { project_id: projectId, object_id: "nothing", digest: "latest" };
          return { ...post(`/obj/${route}`, none, status), statusOfOwner: 404 };
        }),
      ]),
    ),
    "POST /table/create": inProjects(other, "/table/create", (projectId) => ({
      table: { project_id: projectId, rows: [{ a: 1 }] },
    })),
    "POST /table/create_from_digests": inProjects(other, "/table/create_from_digests", (projectId) => ({
      project_id: projectId,
      row_digests: [],
    })),
    ...Object.fromEntries(
      ["/table/query", "/table/query_stats", "/file/content"].map((path) => [
        `POST ${path}`,
        inProjects(other, path, (projectId) => ({ project_id: projectId, digest: "none" }), 404),
      ]),
    ),
    ...Object.fromEntries(
      ["/file/create", "/files/create"].map((path) => [
        `POST ${path}`,
        projects(other).map(({ projectId, status }) => post(path, tracedFile(projectId), status, uploading)),
      ]),
    ),
    "POST /refs/read_batch": [
      post("/refs/read_batch", { refs: [`w:///${projectOf(other)}/object/nothing:latest`] }, 403),
    ].map((attempt) => ({ ...attempt, statusOfOwner: 404 })),
    "POST /call/start": inProjects(other, "/call/start", (projectId) => ({ start: callStart(projectId) })),
    "POST /call/end": inProjects(other, "/call/end", (projectId) => ({ end: callEnd(projectId) })),
    "POST /call/upsert_batch": inProjects(other, "/call/upsert_batch", (projectId) => ({
      batch: [{ mode: "start", req: { start: callStart(projectId) } }],
    })),
    "POST /call/read": inProjects(other, "/call/read", (projectId) => ({ project_id: projectId, id: "c" })),
    "POST /calls/stream_query": inProjects(other, "/calls/stream_query", (projectId) => ({
      project_id: projectId,
    })),
    "POST /calls/query_stats": inProjects(other, "/calls/query_stats", (projectId) => ({
      project_id: projectId,
    })),
    "POST /calls/delete": inProjects(other, "/calls/delete", (projectId) => ({
      project_id: projectId,
      call_ids: ["none"],
    })),
    ...Object.fromEntries(
      (
        [
          ["call/start", { start: callStart(projectOf(own)) }],
          ["call/end", { end: callEnd(projectOf(own)) }],
          ["calls/complete", { batch: [] }],
        ] as const
      ).map(([route, body]) => [
        `POST /v2/:entity/:project/${route}`,
        [post(`/v2/${projectOf(other)}/${route}`, body, 403)],
      ]),
    ),
    "GET /server_info": lists("/server_info", other),
    "POST /graphql": [
      post(
        "/graphql",
        { query: "query { project { name } }", variables: { entityName: other.entity, name: other.project } },
        403,
      ),
    ],
    "DELETE /v1/preview/projects/:entity/:project/traces": [
      { ...get(`/v1/preview/projects/${projectOf(other)}/traces`, 403), method: "DELETE" },
    ],
    ...Object.fromEntries(
      ["export", "stats"].map((route) => [
        `POST /feedback/${route}`,
        projects(other).map(({ projectId, status }) =>
          post(`/feedback/${route}`, { project_id: projectId }, status),
        ),
      ]),
    ),
    "POST /feedback/replace": replacements(other, own),
    "POST /feedback/create": records(other, own).map(({ record, status }) =>
      post("/feedback/create", record, status),
    ),
    "POST /feedback/batch/create": records(other, own).flatMap(({ record, status }) => [
      post("/feedback/batch/create", { batch: [record] }, status),
      post("/feedback/batch/create", { batch: [recordOf(own, "good"), record] }, status),
    ]),
    ...queueAttempts(other, own),
    "DELETE /v1/preview/webhooks/:webhook_id": ofWebhook(other, (id) => ({
      ...get(`${webhooks}/${id}`, 404),
      method: "DELETE",
    })),
    "DELETE /v1/preview/models/:model_id": ofModel(other, (id) => ({
      ...get(`${models}/${id}`, 200),
      method: "DELETE",
    })),
  };
}

const watching = { accept: "text/event-stream" } as const;

export function get(url: string, status: number, headers: Request["headers"] = {}): Attempt {
  return { method: "GET", url, status, headers };
}

export function post(
  url: string,
  body: object | string,
  status: number,
  headers: Request["headers"] = {},
): Attempt {
  return { method: "POST", url, body, status, headers };
}

function fullNameOf({ entity, project, name }: Things): string {
  return `${entity}/${project}/${name}`;
}

function projectOf({ entity, project }: Things): string {
  return `${entity}/${project}`;
}

/**
 * Returns a model's id in several spellings for a URL: as is, in capitals, and with its first character
 * percent-encoded.
 */
function modelIds({ modelId }: Things): readonly string[] {
  return [modelId, modelId.toUpperCase(), `%${modelId.charCodeAt(0).toString(16)}${modelId.slice(1)}`];
}

/** Returns ids and names for a URL that belong to no model. */
function otherIds(things: Things): readonly string[] {
  const { modelId, jobId, endedJobId, eventId, versionId, logId, feedbackId, requestId, project, name } =
    things;
  const full = fullNameOf(things);
  const named = [name, `${project}/${name}`, full, `${full}:latest`, `x:///${full}`, `x://${full}:step1`];
  const ids = [jobId, jobId.toUpperCase(), endedJobId, eventId, versionId, logId, feedbackId, requestId];
  return [...ids, `${modelId}:step1`, `${modelId}:latest`, `${modelId}\0`, ...named].map(encodeURIComponent);
}

/** Returns attempts to reach a model by a path that contains its id; `attempt` creates the request for an id. */
function ofModel(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  return [
    ...modelIds(other).map((id) => ({ ...attempt(id), ...foreignId })),
    ...otherIds(other).map((id) => ({ ...attempt(id), status: 404 })),
  ];
}

function recordedIds(other: Things): readonly string[] {
  return [other.requestId, `chatcmpl-${other.requestId}`, ...otherIds(other), ...modelIds(other)];
}

/** Returns attempts to reach a recorded request by a path that takes its id, with and without the project. */
function recordedAttempts(other: Things, method: "GET" | "DELETE", path: string): readonly Attempt[] {
  const project = encodeURIComponent(projectOf(other));
  return recordedIds(other).flatMap((id) => {
    const url = `${path}/${id}`;
    return [
      { method, url, status: 404 },
      { method, url: `${url}?project=${project}`, status: 403 },
    ];
  });
}

/** Returns attempts to reach a job by a path that takes its id. */
function ofJob(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  return [...otherIds(other), ...modelIds(other)].map(attempt);
}

/** Returns attempts to reach a rule by a path that takes its id. Also tries ids and names of other objects. */
function ofRule(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  const { ruleId, modelId, jobId, name } = other;
  return [ruleId, ruleId.toUpperCase(), modelId, jobId, name].map(attempt);
}

/** Returns the body that creates a job from the feedback on a model's answers. */
function fromFeedback(modelId: string): object {
  return { model_id: modelId, rule: { terms: rewardTerms } };
}

/** Returns attempts to reach a file by a path that takes its id. Also tries ids of other objects. */
function ofFile(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  const { fileId, modelId, jobId } = other;
  return [fileId, fileId.toUpperCase(), modelId, jobId].map(attempt);
}

/** Returns a grader that asks this model. */
function judgeOf(model: string): object {
  return { type: "score_model", name: "judge", model, input: [{ role: "user", content: "Hi" }] };
}

/** Returns attempts to reach a fine-tuning job by a path that contains its id. Also tries ids of other objects. */
function ofFineTuning(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  const { fineTuningId, modelId, endedJobId, jobId } = other;
  return [fineTuningId, fineTuningId.toUpperCase(), modelId, endedJobId, jobId].map(attempt);
}

/** Returns attempts to reach a webhook by a path that contains its id. Also tries ids of other objects. */
function ofWebhook(other: Things, attempt: (id: string) => Attempt): readonly Attempt[] {
  const { webhookId, deliveryId, modelId, jobId } = other;
  return [webhookId, webhookId.toUpperCase(), deliveryId, modelId, jobId].map(attempt);
}

/**
 * Returns attempts to reach keys by the routes for keys. Only administrators may use these routes, so the entity of a
 * key does not matter.
 */
function keyAttempts({ entity }: Things): Readonly<Record<string, readonly Attempt[]>> {
  const one = `${keys}/key-${entity}`;
  const forAdmins = (...attempts: readonly Attempt[]): readonly Attempt[] =>
    attempts.map((attempt) => ({ ...attempt, statusOfOwner: 403 }));
  return {
    "GET /v1/preview/keys": forAdmins(
      get(`${keys}?entity=${entity}`, 403),
      get(`${keys}?after=key-${entity}`, 403),
    ),
    "GET /v1/preview/usage": [
      { ...get(`/v1/preview/usage?entity=${entity}`, 403), statusOfOwner: 200 },
      get(`/v1/preview/usage?key_id=key-${entity}`, 200),
      get(`/v1/preview/usage?after=key-${entity}`, 422),
      get(`/v1/preview/usage?after=2999-01-01:key-${entity}:tiny&order=asc`, 200),
    ],
    "GET /v1/preview/usage/export": [
      { ...get(`/v1/preview/usage/export?entity=${entity}`, 403), statusOfOwner: 200 },
      get(`/v1/preview/usage/export?key_id=key-${entity}`, 200),
    ],
    "GET /v1/preview/retention": [
      { ...get(`/v1/preview/retention?entity=${entity}`, 403), statusOfOwner: 200 },
    ],
    "POST /v1/preview/base-models/:base_model/load": forAdmins(
      post("/v1/preview/base-models/hone-tiny/load", "", 403),
    ),
    "POST /v1/preview/base-models/:base_model/unload": forAdmins(
      post("/v1/preview/base-models/hone-tiny/unload", "", 403),
    ),
    "POST /v1/preview/retention/sweep": forAdmins(
      post("/v1/preview/retention/sweep", { dry_run: true }, 403),
      post("/v1/preview/retention/sweep", {}, 403),
    ),
    "GET /v1/preview/entities/:entity/limits": forAdmins(get(`/v1/preview/entities/${entity}/limits`, 403)),
    "POST /v1/preview/entities/:entity/limits": forAdmins(
      post(`/v1/preview/entities/${entity}/limits`, { queued_jobs: null }, 403),
    ),
    "GET /v1/preview/logs": forAdmins(
      get("/v1/preview/logs", 403),
      get(`/v1/preview/logs?after=key-${entity}`, 403),
    ),
    "POST /v1/preview/keys": forAdmins(post(keys, { entity }, 403), post(keys, { role: "owner" }, 403)),
    "GET /v1/preview/keys/:key_id": forAdmins(get(one, 403)),
    "POST /v1/preview/keys/:key_id": forAdmins(post(one, { scopes: ["read"] }, 403)),
    "POST /v1/preview/keys/:key_id/rotate": forAdmins(post(`${one}/rotate`, { grace_seconds: 0 }, 403)),
    "DELETE /v1/preview/keys/:key_id": forAdmins({ ...get(one, 403), method: "DELETE" }),
  };
}

function hook(about: object, status: number): Attempt {
  return post(webhooks, { url: "http://127.0.0.1:1/", events: ["feedback.created"], ...about }, status);
}

/** Returns ids that a request may contain as the cursor of a page. */
function cursors({
  modelId,
  versionId,
  logId,
  jobId,
  endedJobId,
  eventId,
  feedbackId,
}: Things): readonly string[] {
  return [modelId, versionId, logId, jobId, endedJobId, eventId, feedbackId].map(encodeURIComponent);
}

/**
 * Returns requests for a list whose query contains another entity's objects. The server ignores unknown parameters;
 * with known ones, the list is empty.
 */
function lists(url: string, { entity, project, name, modelId }: Things): readonly Attempt[] {
  const queries = [`entity=${entity}`, `project=${project}`, `name=${name}`, `id=${modelId}`];
  const all = queries.slice(0, 3).join("&");
  return [...queries, all, `${all}&after=`].map((query) => get(`${url}?${query}`, 200));
}

/** Returns names of another entity's models in several forms, each with the status that a chat with it must get. */
export function modelNames(
  other: Things,
): readonly (Pick<Attempt, "status" | "statusOfNone"> & { name: string })[] {
  const full = fullNameOf(other);
  const { entity, project, name, modelId, jobId, versionId, requestId } = other;
  const uris = [`x:///${full}`, `x://${full}`, `wandb-artifact:///${full}`, `<scheme>:///${full}`];
  const byName = [full, ...uris, full.replace(entity, entity.toUpperCase()), `${entity}/${project}/nothing`];
  const byShortName = [name, `${project}/${name}`, encodeURIComponent(full), jobId, versionId, requestId];
  return [":step0", "", ":latest", ":step1", ":step9"].flatMap((version) => [
    ...[modelId, modelId.toUpperCase()].map((id) => ({ name: id + version, ...foreignId })),
    ...byName.map((model) => ({ name: model + version, status: 403 })),
    ...byShortName.map((model) => ({ name: model + version, status: 404 })),
  ]);
}

/**
 * Returns attempts to chat with another entity's models.
 *
 * @param prompt prompt in the form that the route takes
 */
export function answers(other: Things, url: string, prompt: object): readonly Attempt[] {
  const body = { ...prompt, max_tokens: 1, seed: 1 };
  const named = modelNames(other).map(({ name, ...status }) => ({
    ...post(url, { ...body, model: name }, 0),
    ...status,
  }));
  return [
    ...named,
    post(url, { ...body, request_id: other.requestId }, 200),
    post(url, body, 200, { "x-request-id": other.requestId }),
  ];
}

/** Messages of a chat request. */
const conversation = { messages: [{ role: "user", content: "Hi" }] };

function registrations(other: Things, own: Things): readonly Attempt[] {
  const { entity, project, name } = other;
  const model = { project, name, base_model: "tiny" };
  const foreign = [
    { ...model, entity, return_existing: true },
    { ...model, entity },
    { ...model, entity, name: "another" },
    { ...model, entity, base_model: "small", return_existing: true },
    { ...model, entity: entity.toUpperCase(), return_existing: true },
  ];
  return [
    // Sends these attempts before the caller creates a model of that name.
    ...forks(other),
    ...foreign.map((body) => post(models, body, 403)),
    post(models, { ...model, entity: fullNameOf(other), return_existing: true }, 422),
    // Creates or returns the caller's own model of the same name.
    post(models, { ...model, entity: own.entity, return_existing: true }, 200),
  ];
}

/** Returns requests that try to create a model of the caller from another entity's version. */
function forks(other: Things): readonly Attempt[] {
  const from = (model: string, step?: number): object => ({
    project: "forks",
    name: "fork",
    base_model: "tiny",
    from: { model, ...(step === undefined ? {} : { step }) },
  });
  return [
    ...modelNames(other)
      .filter(({ name }) => !/:(step0|step9|latest)$/.test(name))
      .map(({ name, ...status }) => ({ ...post(models, from(name), 0), ...status })),
    { ...post(models, from(other.modelId, 1), 0), ...foreignId },
    post(models, from(other.name, 1), 404),
  ];
}

const uploading = { "content-type": "multipart/form-data; boundary=xYz" } as const;

const partOf = (about: string, value: string): string =>
  `--xYz\r\ncontent-disposition: form-data; ${about}\r\n\r\n${value}\r\n`;
const purposePart = partOf('name="purpose"', "fine-tune");
const oneExample = JSON.stringify({ messages: [{ role: "assistant", content: "Hi" }] });
const upload = `${purposePart}${partOf('name="file"; filename="a"', oneExample)}--xYz--\r\n`;

/** Returns a form that publishes a file in a project. */
function tracedFile(projectId: string): string {
  return `${partOf('name="project_id"', projectId)}${partOf('name="file"; filename="a"', "a")}--xYz--\r\n`;
}

function teach(body: object, status: number): Attempt {
  return post("/v1/preview/sft-training-jobs", body, status);
}

function prefer(body: object, status: number, below = ""): Attempt {
  return post(`/v1/preview/preference-training-jobs${below}`, body, status);
}

const pairs = [{ prompt: "Hi", chosen: "Ho", rejected: "Hum" }];

const examples = [
  {
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Ho" },
    ],
  },
];

function creations(
  other: Things,
  own: Things,
  requestFor = (modelId: string): Attempt => post(jobs, jobOf({ ...own, modelId }), 0),
): readonly Attempt[] {
  const create = (modelId: string, status: number): Attempt => ({ ...requestFor(modelId), status });
  return [
    ...[other.modelId, other.modelId.toUpperCase()].map((id) => ({ ...create(id, 0), ...foreignId })),
    // Well-formed ids that do not belong to a model.
    ...[other.jobId, other.logId].map((id) => create(id, 404)),
    ...[other.versionId, other.name, fullNameOf(other), `x:///${fullNameOf(other)}`].map((id) =>
      create(id, 422),
    ),
    { ...create(own.modelId, 200), headers: { "idempotency-key": other.idempotencyKey } },
    { ...create(other.modelId, 0), ...foreignId, headers: { "idempotency-key": other.idempotencyKey } },
  ];
}

/** Returns another entity's project in several spellings. */
function projects(other: Things): readonly { readonly projectId: string; readonly status: number }[] {
  const { entity, project } = other;
  return [
    { projectId: projectOf(other), status: 403 },
    { projectId: `${entity}/nothing`, status: 403 },
    { projectId: projectOf(other).toUpperCase(), status: 403 },
    { projectId: encodeURIComponent(projectOf(other)), status: 422 },
    { projectId: `x:///${projectOf(other)}`, status: 422 },
    { projectId: entity, status: 422 },
    { projectId: `${entity}/${project}/`, status: 422 },
  ];
}

/** Returns attempts for a route that takes a project's id in its body. */
function inProjects(
  other: Things,
  path: string,
  bodyOf: (projectId: string) => object,
  statusOfOwner?: number,
): readonly Attempt[] {
  return projects(other).map(({ projectId, status }) => ({
    ...post(path, bodyOf(projectId), status),
    ...(statusOfOwner === undefined ? {} : { statusOfOwner }),
  }));
}

function callStart(projectId: string): object {
  const started = { op_name: "f", started_at: "2026-11-21T12:00:00Z", attributes: {}, inputs: {} };
  return { project_id: projectId, id: "c", ...started };
}

function callEnd(projectId: string): object {
  return { project_id: projectId, id: "c", ended_at: "2026-11-21T12:00:01Z", summary: {} };
}

function replacements(other: Things, own: Things): readonly Attempt[] {
  const replace = (record: object, feedbackId: string, status: number): Attempt =>
    post("/feedback/replace", { ...record, feedback_id: feedbackId }, status);
  return [
    ...projects(other).map(({ projectId, status }) =>
      replace({ ...recordOf(other), project_id: projectId }, other.feedbackId, status),
    ),
    replace({ ...recordOf(other), id: own.feedbackId }, own.feedbackId, 403),
    ...[other.feedbackId, other.modelId, other.jobId].map((id) => replace(recordOf(own, id), id, 404)),
  ];
}

/**
 * Returns feedback records: some in another entity's project, and some in the caller's own project that contain ids of
 * another entity.
 */
function records(
  other: Things,
  own: Things,
): readonly { readonly record: object; readonly status: number }[] {
  const reference = `w:///${projectOf(other)}`;
  return [
    ...projects(other).map(({ projectId, status }) => ({
      record: { ...recordOf(other), project_id: projectId },
      status,
    })),
    // Accepted. A record's id is unique only within its project, and a reference may name an object that does not
    // exist.
    { record: recordOf(own, other.feedbackId), status: 200 },
    { record: { ...recordOf(own, `1-${other.entity}`), vendor_ref: `${reference}/call/1` }, status: 200 },
    {
      record: { ...recordOf(own, `2-${other.entity}`), call_ref: `${reference}/call/${other.jobId}` },
      status: 200,
    },
  ];
}

const queues = "/annotation_queues";

/** Returns attempts on another entity's queues, with that entity's project and with the caller's own project. */
function queueAttempts(other: Things, own: Things): Readonly<Record<string, readonly Attempt[]>> {
  const { queueId, itemId } = other;
  /** Attempts with the project in the body. `path` contains the id of another entity's queue. */
  const inBody = (method: "POST" | "PUT" | "DELETE", path: string, body: object = {}): readonly Attempt[] => [
    ...projects(other).map(({ projectId, status }) => ({
      ...post(path, { project_id: projectId, ...body }, status),
      method,
    })),
    { ...post(path, { project_id: projectOf(own), ...body }, 404), method },
  ];
  /** Attempts that name only the project. */
  const ofProject = (path: string, body: object = {}): readonly Attempt[] => [
    ...projects(other).map(({ projectId, status }) => post(path, { project_id: projectId, ...body }, status)),
    post(path, { project_id: projectOf(own), ...body }, 200),
  ];
  const inQuery = (method: "GET" | "DELETE", tail = ""): readonly Attempt[] => [
    ...projects(other).map(({ projectId, status }) => ({
      ...get(`${queues}/${queueId}${tail}?project_id=${encodeURIComponent(projectId)}`, status),
      method,
    })),
    { ...get(`${queues}/${queueId}${tail}?project_id=${encodeURIComponent(projectOf(own))}`, 404), method },
  ];
  const item = `${queues}/${queueId}/items/${itemId}`;
  return {
    "POST /annotation_queues": ofProject(queues, { name: `queue-${other.entity}` }),
    "POST /annotation_queues/query": ofProject(`${queues}/query`, { name: `queue-${other.entity}` }),
    "POST /annotation_queues/stats": ofProject(`${queues}/stats`, { queue_ids: [queueId] }),
    "GET /annotation_queues/:queue_id": inQuery("GET"),
    "GET /annotation_queues/:queue_id/agreement": inQuery("GET", "/agreement"),
    "PUT /annotation_queues/:queue_id": inBody("PUT", `${queues}/${queueId}`, { name: "mine" }),
    "POST /annotation_queues/:queue_id/items": inBody("POST", `${queues}/${queueId}/items`, {
      call_ids: ["1"],
    }),
    "POST /annotation_queues/:queue_id/items/query": inBody("POST", `${queues}/${queueId}/items/query`),
    "POST /annotation_queues/:queue_id/claim": inBody("POST", `${queues}/${queueId}/claim`),
    "POST /annotation_queues/:queue_id/items/:item_id/progress": inBody("POST", `${item}/progress`, {
      annotation_state: "skipped",
    }),
    "POST /annotation_queues/:queue_id/items/:item_id/answers": inBody("POST", `${item}/answers`, {
      answers: {},
    }),
    "POST /annotation_queues/:queue_id/items/:item_id/reopen": inBody("POST", `${item}/reopen`),
    "POST /annotation_queues/:queue_id/items/:item_id/release": inBody("POST", `${item}/release`),
    "DELETE /annotation_queues/:queue_id": [
      ...inQuery("DELETE"),
      ...inBody("DELETE", `${queues}/${queueId}`),
    ],
  };
}
