// Valid requests for every operation, which are the starting points of mutations.
import { chatForm } from "../../src/api/wire/chat/read-chat-request.ts";
import {
  feedbackBatchForm,
  feedbackHistoryForm,
  feedbackReplaceForm,
} from "../../src/api/wire/feedback/feedback.ts";
import { feedbackExportSchema } from "../../src/api/wire/feedback/feedback-export.ts";
import { feedbackStatisticsRequestSchema } from "../../src/api/wire/feedback/feedback-statistics.ts";
import { feedbackPurgeForm } from "../../src/api/wire/feedback/feedback-purge.ts";
import { feedbackQuerySchema } from "../../src/api/wire/feedback/feedback-queries.ts";
import { completionForm } from "../../src/api/wire/completions/completion-request.ts";
import {
  answerForm,
  claimForm,
  itemsAddForm,
  itemsQueryForm,
  progressForm,
} from "../../src/api/wire/annotation/items.ts";
import {
  queueCreateForm,
  queueQueryForm,
  queueStatsForm,
  queueUpdateForm,
} from "../../src/api/wire/annotation/queues.ts";
import { constraintCheckForm } from "../../src/api/wire/chat/constraint-check.ts";
import { checkpointDeleteForm, modelCreateForm } from "../../src/api/wire/models/model.ts";
import { embeddingForm } from "../../src/api/wire/embeddings/embedding-request.ts";
import { logSchema } from "../../src/api/wire/read-log.ts";
import { detokenizeForm, tokenizeForm } from "../../src/api/wire/tokenize/read-tokenization.ts";
import { feedbackPreferencesForm } from "../../src/api/wire/preferences/feedback-preferences.ts";
import { preferenceJobForm } from "../../src/api/wire/preferences/preference-job.ts";
import { supervisedJobForm } from "../../src/api/wire/supervised/supervised-job.ts";
import { feedbackJobForm } from "../../src/api/wire/rewards/feedback-job.ts";
import { ruleChangeForm, ruleCreateForm } from "../../src/api/wire/rewards/reward-rule.ts";
import { trainingJobForm } from "../../src/api/wire/training-job.ts";
import { transferRequestSchema } from "../../src/api/wire/transfer/transfer-request.ts";
import { keyChangeForm, keyCreateForm } from "../../src/api/wire/keys/key.ts";
import { entityLimitsForm } from "../../src/api/wire/keys/limits.ts";
import { webhookReplayForm } from "../../src/api/wire/webhooks/delivery.ts";
import { webhookChangeForm, webhookCreateForm } from "../../src/api/wire/webhooks/webhook.ts";
import { countForm, messagesForm } from "../../src/api/wire/messages/messages-fields.ts";
import { responsesForm } from "../../src/api/wire/responses/responses-fields.ts";
import { formType, oddForm, oddTar, validForm, validTar } from "./odd-uploads.ts";
import {
  objectDeleteForm,
  objectPublishForm,
  objectQueryForm,
  objectReadForm,
  refsReadForm,
} from "../../src/api/wire/weave/objects.ts";
import {
  callReadForm,
  callsDeleteForm,
  callsQueryForm,
  callsStatsForm,
} from "../../src/api/wire/weave/call-queries.ts";
import {
  callBatchForm,
  callEndForm,
  callsCompleteForm,
  callStartForm,
} from "../../src/api/wire/weave/calls.ts";
import { fileContentForm } from "../../src/api/wire/weave/files.ts";
import { graphqlForm } from "../../src/api/wire/weave/graphql-queries.ts";
import {
  tableCreateForm,
  tableOfDigestsForm,
  tableQueryForm,
  tableStatsForm,
} from "../../src/api/wire/weave/tables.ts";
import { constrainedChats, schemaKeywords } from "./constrained-chats.ts";
import { ollamaRequests } from "./valid-ollama.ts";
import { namesIn, type FuzzedWorld, type ValidRequest } from "./valid-request.ts";
import { tinkerRequests } from "./valid-tinker.ts";
import { traceRequests } from "./valid-traces.ts";
import { tuningRequests } from "./valid-tuning.ts";

const equals = (field: string, value: string): object => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
});

/** A query that uses every part of the query language. */
const anyQuery = {
  query: {
    $expr: {
      $and: [
        { $not: [{ $gt: [{ $getField: "payload.score" }, { $literal: 0.5 }] }] },
        { $in: [{ $getField: "feedback_type" }, [{ $literal: "wandb.note.1" }, { $literal: null }]] },
        {
          $or: [
            { $contains: { input: { $getField: "payload.note" }, substr: { $literal: "good" } } },
            { $gte: [{ $getField: "created_at" }, { $literal: "2026-01-01" }] },
            {
              $eq: [
                { $convert: { input: { $getField: "payload.tags.0" }, to: "exists" } },
                { $literal: true },
              ],
            },
            { $lt: [{ $size: { $getField: "payload.tags" } }, { $literal: 2 }] },
          ],
        },
      ],
    },
  },
  sort_by: [
    { field: "payload.score", direction: "desc" },
    { field: "created_at", direction: "asc" },
  ],
  fields: ["id", "payload.note"],
  limit: 10,
  offset: 1,
};

export const feedbackIds: readonly string[] = ["fuzz-1", "fuzz-2"];

const user = { role: "user", content: "what is one and one?" };
const assistant = { role: "assistant", content: "two" };
const choice = {
  index: 0,
  finish_reason: "stop",
  message: assistant,
  logprobs: { content: [{ token: "token_id:7", logprob: -0.5, bytes: [116], top_logprobs: [] }] },
  token_ids: [7],
  prompt_token_ids: [1, 2, 3],
};
const tool = {
  type: "function",
  function: { name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: true },
};

const chats: readonly object[] = [
  {},
  { temperature: 0, seed: 7, logprobs: true, top_logprobs: 3, stop: ["a", "\n\n"], top_p: 0.9, top_k: 5 },
  { stream: true, stream_options: { include_usage: true }, n: 2, return_token_ids: true },
  { messages: [{ role: "system", content: "be short" }, user, assistant, user], user: "u", priority: 0 },
  {
    messages: [{ role: "user", content: [{ type: "text", text: "one" }, "two"], name: "n" }],
    logit_bias: { 5: -100, 6: 1.5 },
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
    repetition_penalty: 1.1,
    min_p: 0.1,
    top_n_sigma: 1.5,
  },
  {
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "3" },
    ],
    tools: [tool],
    tool_choice: "none",
    response_format: { type: "text" },
  },
  { continue_final_message: true, messages: [user, assistant], request_id: "one", min_tokens: 1 },
];

/** Conversations to answer or tokenize. */
const prompts: readonly object[] = [
  {
    messages: [user],
    chat_template: "{% for m in messages %}{{ m.content }}{% endfor %}{{ a }}",
    chat_template_kwargs: { a: 1, enable_thinking: false },
    reasoning_effort: "low",
  },
  {
    messages: [user, assistant],
    documents: [{ title: "t", text: "x" }],
    tools: [tool],
    continue_final_message: true,
    add_special_tokens: true,
  },
];

const completions: readonly object[] = [
  { prompt: "one and one is" },
  { prompt: ["a", "b"], n: 2, best_of: 2, logprobs: 2, stop: ["x"], seed: 3 },
  { prompt: [[1, 2, 3], [4]], stream: true, stream_options: { include_usage: true }, suffix: "" },
  { prompt: [5, 6, 7], max_tokens: 0, echo: true, logprobs: 1, return_token_ids: true },
  { prompt: "a", min_p: 0.1, top_k: 5, stop_token_ids: [1], min_tokens: 1, add_special_tokens: false },
];

const embeddings: readonly object[] = [
  { input: "one and one" },
  { input: ["a", "b"], dimensions: 2, encoding_format: "base64", user: "u" },
  { input: [[1, 2, 3], [4]], encoding_format: "float" },
  { input: [5, 6, 7], model: "tiny:latest" },
];

const responses: readonly object[] = [
  { input: "one and one is", instructions: "be short" },
  {
    input: [
      { role: "user", content: [{ type: "input_text", text: "which?" }] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "3" },
    ],
    tools: [{ type: "function", name: "f", parameters: { type: "object" } }, { type: "web_search" }],
    stream: true,
    store: true,
  },
  { input: "a", text: { format: { type: "json_object" } }, top_logprobs: 2, reasoning: { effort: "low" } },
];

const anthropicMessages: readonly object[] = [
  { system: "be short", messages: [user], metadata: { user_id: "u" }, thinking: { type: "disabled" } },
  {
    system: [{ type: "text", text: "be short", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "which?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "s" },
          { type: "redacted_thinking", data: "x" },
          { type: "tool_use", id: "c", name: "f", input: { a: 1 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "3", is_error: false }] },
    ],
    tools: [
      { name: "f", input_schema: { type: "object" } },
      { type: "web_search_20250305", name: "web_search" },
    ],
    thinking: { type: "enabled", budget_tokens: 1024 },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  },
  {
    messages: [user, { role: "assistant", content: "one" }],
    output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
    stop_sequences: ["."],
  },
];

const checks: readonly object[] = [
  {
    structured_outputs: {
      json: {
        type: "object",
        properties: { a: { type: "integer", minimum: 1 }, b: { items: { enum: ["x", null] } } },
        required: ["a"],
        additionalProperties: false,
      },
      disable_any_whitespace: true,
    },
    tests: [{ data: { b: ["x"], a: 2 }, valid: true }, { data: null }],
  },
  { structured_outputs: { regex: "[a-c]{2,5}(?!d)" }, tests: [{ data: "abc" }] },
  { structured_outputs: { grammar: 'root ::= "(" root ")" | ""' }, tests: [{ data: "(())", valid: true }] },
  {
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "n",
        schema: { oneOf: [{ const: 1 }, { $ref: "#/$defs/t" }], $defs: { t: { pattern: "^a" } } },
      },
    },
    tests: [{ data: 1 }],
  },
];

const trajectory = {
  messages_and_choices: [user, choice],
  tools: [tool],
  additional_histories: [{ messages_and_choices: [user, assistant], tools: null }],
  reward: 1,
  initial_policy_version: 0,
  final_policy_version: 0,
  metrics: { correct: true, length: 3.5 },
  auto_metrics: {},
  metadata: { split: "a", n: 1 },
  logs: ["one", 2],
  start_time: "2025-01-01T00:00:00Z",
};
const groups: readonly (readonly object[])[] = [
  [{ trajectories: [trajectory, { ...trajectory, reward: 0 }] }],
  [
    { trajectories: [{ reward: 1, messages_and_choices: [user, assistant] }], metadata: { a: "b" } },
    { trajectories: [], exceptions: [{ type: "E", message: "m" }], logs: [], metrics: { x: 1 } },
  ],
];
const config = {
  advantage_balance: 0.1,
  epsilon: 0.2,
  epsilon_high: null,
  importance_sampling_level: "token",
  vendor_k2_tau: 0.1,
  learning_rate: 0.0001,
  mask_prob_ratio: false,
  max_negative_advantage_importance_sampling_weight: 2,
  ppo: true,
  precalculate_logprobs: false,
  scale_rewards: true,
};

const rewardTerms: readonly object[] = [
  { kind: "reaction", rewards: { "👍": 1, ":thumbs_down:": 0 }, weight: 2 },
  { kind: "number", feedback_type: "custom", path: "nested.0.a", range: [1, 5] },
  { kind: "annotation", name: "good", rewards: { yes: 1 }, factor: 0.5, offset: 0.1, clamp: [-1, 1] },
  { kind: "preference", prior: 0.5, feedback_type: "compared" },
];

const record = {
  project_id: "local/p",
  vendor_ref: "w:///local/p/object/thing:v1",
  feedback_type: "wandb.note.1",
  payload: { note: "good" },
  creator: "me",
};
const records: readonly object[] = [
  record,
  {
    ...record,
    feedback_type: "vendor.reaction.1",
    payload: { emoji: "👍" },
    call_ref: "w:///local/p/call/1",
  },
  {
    project_id: "local/p",
    weave_ref: "weave:///local/p/call/abc",
    feedback_type: "custom",
    payload: { score: 0.5, tags: ["x"], nested: { a: null } },
    queue_id: null,
    trigger_ref: "",
  },
];

function queueRequests({ queueId, itemId }: FuzzedWorld): readonly ValidRequest[] {
  const queue = `/annotation_queues/${queueId}`;
  const item = `${queue}/items/${itemId}`;
  const send = (path: string, { schema }: { readonly schema: object }, body: object): ValidRequest => ({
    method: "POST",
    path,
    body: { project_id: "local/p", ...body },
    names: namesIn(schema),
    schema,
    scheme: "Basic",
  });
  const questions = [
    { name: "tone", text: "How?", schema: { enum: ["kind", 1, true, null] }, optional: true },
    { name: "stars", schema: { type: "integer", minimum: 1, maximum: 5 } },
    { name: "why", schema: { type: "string", maxLength: 9 } },
  ];
  const scorerRefs = ["w:///local/p/object/spec:v1"];
  const sorted = (field: string): object => ({
    sort_by: [{ field, direction: "desc" }],
    limit: 3,
    offset: 1,
  });
  return [
    send("/annotation_queues", queueCreateForm, { name: "q", scorer_refs: scorerRefs, questions }),
    send("/annotation_queues/query", queueQueryForm, { name: "Q", ...sorted("name") }),
    send("/annotation_queues/stats", queueStatsForm, { queue_ids: [queueId, "none"] }),
    { ...send(queue, queueUpdateForm, { description: "d", annotators_per_item: 3 }), method: "PUT" },
    { method: "GET", path: `${queue}/agreement?project_id=local/p`, names: ["project_id"], scheme: "Basic" },
    { method: "GET", path: `${queue}?project_id=local/p`, names: ["project_id"], scheme: "Basic" },
    {
      method: "DELETE",
      path: "/annotation_queues/none?project_id=local/p",
      names: ["project_id"],
      scheme: "Basic",
    },
    send(`${queue}/items`, itemsAddForm, {
      call_ids: ["1", "chatcmpl-2", "w:///local/p/call/3"],
      display_fields: [{ json_path: "inputs", label: "Question" }],
    }),
    send(`${queue}/items`, itemsAddForm, {
      feedback_query: equals("feedback_type", "t"),
      completions: { step: 1, ended_from: "2026-01-01T00:00:00Z" },
    }),
    send(`${queue}/items/query`, itemsQueryForm, {
      filter: { annotation_states: ["unstarted", "completed"], added_by: "me" },
      annotator: "ann",
      ...sorted("call_id"),
    }),
    send(`${queue}/claim`, claimForm, { annotator: "ann", hold_seconds: 1.5 }),
    send(`${item}/progress`, progressForm, { annotation_state: "in_progress" }),
    send(`${item}/answers`, answerForm, { annotator: "bob", answers: { tone: "kind" } }),
    send(`${item}/reopen`, claimForm, { annotator: "bob" }),
    send(`${item}/release`, claimForm, { annotator: "bob" }),
  ];
}
const tracedCall = {
  project_id: "local/p",
  id: "c",
  trace_id: "t",
  op_name: "w:///local/p/op/f:v1",
  display_name: "f",
  started_at: "2026-11-21T12:00:00.123456Z",
  attributes: { a: { b: 1.0 } },
  inputs: { x: [1e300] },
};

/** A spec with all supported keywords, so that mutations affect each of them. */
const publishedSpec = {
  _type: "AnnotationSpec",
  _class_name: "AnnotationSpec",
  _bases: ["BaseObject", "BaseModel"],
  name: "spec",
  field_schema: {
    $defs: { one: { enum: [1, "a"] } },
    type: ["object", "null"],
    properties: {
      a: { $ref: "#/$defs/one" },
      b: { items: { pattern: "^a", maxLength: 4 }, uniqueItems: true },
    },
    patternProperties: { "^x": { multipleOf: 0.5 } },
    required: ["a"],
    oneOf: [{ minProperties: 1 }, { const: null }],
  },
};

/** Returns all valid requests. */
export function validRequests(world: FuzzedWorld): readonly ValidRequest[] {
  const { modelId, spareModelId, jobId, fileId } = world;
  const models = "/v1/preview/models";
  const jobs = "/v1/preview/training-jobs";
  const rules = "/v1/preview/reward-rules";
  const webhooks = "/v1/preview/webhooks";
  const keys = "/v1/preview/keys";
  const names = {
    chat: namesIn(chatForm.schema),
    tokens: [...namesIn(tokenizeForm.schema), ...namesIn(detokenizeForm.schema)],
    job: namesIn(trainingJobForm.schema),
    supervised: namesIn(supervisedJobForm.schema),
    preference: namesIn(preferenceJobForm.schema),
    log: namesIn(logSchema),
    feedback: namesIn(feedbackReplaceForm.schema),
    constraint: [...namesIn(chatForm.schema), ...schemaKeywords],
    page: ["after", "limit", "order", "entity", "project", "name", "model_id", "state", "split"],
  };
  const get = (path: string, rest: Partial<ValidRequest> = {}): ValidRequest => ({
    method: "GET",
    path,
    names: names.page,
    ...rest,
  });
  const post = (path: string, body: unknown, rest: Partial<ValidRequest> = {}): ValidRequest => ({
    method: "POST",
    path,
    body,
    names: names.page,
    ...rest,
  });
  const feedback = { scheme: "Basic", names: names.feedback } as const;
  const queried = { ...feedback, names: namesIn(feedbackQuerySchema) };
  return [
    ...chats.map((chat, index) =>
      post(
        index % 2 === 0 ? "/v1/chat/completions" : "/v1/chat/completions/",
        { model: index === 1 ? modelId : "tiny", messages: [user], max_tokens: 2, ...chat },
        { names: names.chat, schema: chatForm.schema },
      ),
    ),
    ...prompts.flatMap((prompt) => [
      post(
        "/v1/chat/completions",
        { model: "tiny", max_tokens: 2, truncate_prompt_tokens: -1, tool_choice: "none", ...prompt },
        { names: names.chat },
      ),
      post("/tokenize", { model: modelId, return_token_strs: true, ...prompt }, { names: names.chat }),
    ]),
    post("/tokenize", { prompt: "one and one", add_special_tokens: false }, { names: names.tokens }),
    post("/detokenize", { tokens: [1, 2, 3], model: "tiny" }, { names: names.tokens }),
    ...completions.map((completion) =>
      post(
        "/v1/completions",
        { model: "tiny", max_tokens: 2, ...completion },
        { names: namesIn(completionForm.schema), schema: completionForm.schema },
      ),
    ),
    ...embeddings.map((embedding) =>
      post(
        "/v1/embeddings",
        { model: "tiny", ...embedding },
        { names: namesIn(embeddingForm.schema), schema: embeddingForm.schema },
      ),
    ),
    ...responses.map((response) =>
      post(
        "/v1/responses",
        { model: "tiny", max_output_tokens: 8, ...response },
        { names: namesIn(responsesForm.schema), schema: responsesForm.schema },
      ),
    ),
    ...anthropicMessages.flatMap((message, index) => [
      post(
        "/v1/messages",
        { model: "tiny", max_tokens: 8, stream: index === 1, ...message },
        { names: namesIn(messagesForm.schema), schema: messagesForm.schema },
      ),
      post(
        "/v1/messages/count_tokens",
        { model: "tiny", ...message },
        { names: namesIn(countForm.schema), schema: countForm.schema },
      ),
    ]),
    ...ollamaRequests(),
    get("/v1/models?limit=1&after_id=tiny", { headers: { "anthropic-version": "2023-06-01" } }),
    post(
      "/v1/kv-transfers",
      { handle: "held", entity: "fuzz" },
      { names: namesIn(transferRequestSchema), schema: transferRequestSchema },
    ),
    ...checks.map((check) =>
      post("/v1/preview/structured-outputs/check", check, { names: namesIn(constraintCheckForm.schema) }),
    ),
    ...constrainedChats.map((chat) =>
      post(
        "/v1/chat/completions",
        { model: "tiny", messages: [user], max_tokens: 8, ...chat },
        { names: names.constraint },
      ),
    ),
    ...groups.flatMap((trajectoryGroups, index) => [
      post(
        jobs,
        { model_id: modelId, trajectory_groups: trajectoryGroups, experimental_config: config },
        { headers: index === 0 ? {} : { "idempotency-key": "once" }, names: names.job },
      ),
      post(
        "/v1/preview/sft-training-jobs",
        { model_id: modelId, training_data: [{ messages: [user, { role: "assistant", content: "Ho" }] }] },
        { names: names.supervised },
      ),
      post(
        "/v1/preview/preference-training-jobs",
        { model_id: modelId, pairs: [{ prompt: [user], chosen: "Ho", rejected: "Hum" }] },
        { names: names.preference },
      ),
      post(
        `${models}/${modelId}/log`,
        { split: "train", trajectory_groups: trajectoryGroups },
        { names: names.log },
      ),
    ]),
    post(
      `${jobs}/from-feedback`,
      {
        model_id: modelId,
        rule: { terms: rewardTerms },
        filter: equals("creator", "me"),
        since: "2025-01-01T00:00:00Z",
        version_age_max: 3,
        groups_max: 5,
        experimental_config: config,
        dry_run: true,
      },
      { names: namesIn(feedbackJobForm.schema), schema: feedbackJobForm.schema },
    ),
    post(
      "/v1/preview/preference-training-jobs/from-feedback",
      {
        model_id: modelId,
        rule: { terms: rewardTerms },
        corrections: { feedback_type: "fix", path: "text" },
        since: "2025-01-01T00:00:00Z",
        version_age_max: 3,
        margin_min: 0.1,
        pairs_max: 5,
        config: { loss: "dpo", beta: 0.2 },
        dry_run: true,
      },
      { names: namesIn(feedbackPreferencesForm.schema), schema: feedbackPreferencesForm.schema },
    ),
    post(
      rules,
      {
        project: "p",
        name: "fuzzed",
        terms: rewardTerms,
        standing: { model_id: modelId, groups_min: 2, seconds_between: 3600 },
      },
      { names: namesIn(ruleCreateForm.schema), schema: ruleCreateForm.schema },
    ),
    {
      method: "PUT",
      path: `${rules}/${jobId}`,
      body: { name: "fuzzed", terms: rewardTerms },
      names: namesIn(ruleChangeForm.schema),
    },
    post(`${rules}/${jobId}/pause`, undefined),
    post(`${rules}/${jobId}/resume`, undefined),
    { method: "DELETE", path: `${rules}/${jobId}`, names: names.page },
    get(`${rules}?project=p&limit=5`),
    get(`${rules}/${jobId}`),
    get(`${models}/${modelId}/checkpoints/1/sources?limit=2`),
    post(
      "/feedback/batch/create",
      { batch: records },
      { ...feedback, names: namesIn(feedbackBatchForm.schema) },
    ),
    ...records.flatMap((item, index) => [
      post("/feedback/create", item, feedback),
      post("/feedback/replace", { ...item, feedback_id: feedbackIds[index % 2] }, feedback),
    ]),
    post(
      "/obj/create",
      { obj: { project_id: "local/p", object_id: "spec", val: publishedSpec, expected_digest: null } },
      { ...feedback, names: [...namesIn(objectPublishForm.schema), ...schemaKeywords] },
    ),
    post(
      "/obj/read",
      { project_id: "local/p", object_id: "spec", digest: "latest" },
      { ...feedback, names: namesIn(objectReadForm.schema) },
    ),
    post(
      "/objs/query",
      { project_id: "local/p", filter: { is_op: false, latest_only: true }, limit: 5 },
      { ...feedback, names: namesIn(objectQueryForm.schema) },
    ),
    post(
      "/table/create",
      { table: { project_id: "local/p", rows: [{ a: 1.0 }, { a: "é" }], expected_digest: null } },
      { ...feedback, names: namesIn(tableCreateForm.schema) },
    ),
    post(
      "/table/create_from_digests",
      { project_id: "local/p", row_digests: [], expected_digest: null },
      { ...feedback, names: namesIn(tableOfDigestsForm.schema) },
    ),
    post(
      "/table/query",
      { project_id: "local/p", digest: "none", filter: { row_digests: ["a"] }, limit: 2 },
      { ...feedback, names: namesIn(tableQueryForm.schema) },
    ),
    post(
      "/table/query_stats",
      { project_id: "local/p", digest: "none" },
      { ...feedback, names: namesIn(tableStatsForm.schema) },
    ),
    post(
      "/refs/read_batch",
      { refs: ["w:///local/p/object/spec:latest/attr/field_schema/key/type/index/0"] },
      { ...feedback, names: namesIn(refsReadForm.schema) },
    ),
    ...["/file/create", "/files/create"].map((path) =>
      post(path, validForm, { ...feedback, headers: { "content-type": formType }, oddBody: oddForm }),
    ),
    post(
      "/file/content",
      { project_id: "local/p", digest: "none" },
      { ...feedback, names: namesIn(fileContentForm.schema) },
    ),
    post("/call/start", { start: tracedCall }, { ...feedback, names: namesIn(callStartForm.schema) }),
    post(
      "/call/end",
      { end: { project_id: "local/p", id: "c", ended_at: "2026-11-21T12:00:01+01:00", summary: {} } },
      { ...feedback, names: namesIn(callEndForm.schema) },
    ),
    post(
      "/call/upsert_batch",
      { batch: [{ mode: "start", req: { start: tracedCall } }] },
      { ...feedback, names: namesIn(callBatchForm.schema) },
    ),
    post(
      "/v2/local/p/calls/complete",
      { batch: [{ ...tracedCall, ended_at: "2026-11-21T12:00:02Z", output: [1.0], summary: {} }] },
      { ...feedback, names: namesIn(callsCompleteForm.schema) },
    ),
    ...(["start", "end"] as const).map((part) =>
      post(
        `/v2/local/p/call/${part}`,
        { [part]: { ...tracedCall, ended_at: "2026-11-21T12:00:03.5Z", summary: null } },
        { ...feedback, names: namesIn(callStartForm.schema) },
      ),
    ),
    post(
      "/calls/stream_query",
      {
        project_id: "local/p",
        filter: { op_names: ["w:///local/p/op/f:*"], trace_roots_only: true, status: "error", text: "a b" },
        sort_by: [{ field: "started_at", direction: "desc" }],
        limit: 3,
        columns: ["output.a"],
        include_feedback: true,
      },
      { ...feedback, names: namesIn(callsQueryForm.schema) },
    ),
    post(
      "/calls/query_stats",
      { project_id: "local/p", filter: { trace_ids: ["t"] } },
      { ...feedback, names: namesIn(callsStatsForm.schema) },
    ),
    post(
      "/call/read",
      { project_id: "local/p", id: "c" },
      { ...feedback, names: namesIn(callReadForm.schema) },
    ),
    post(
      "/calls/delete",
      { project_id: "local/p", call_ids: ["none"] },
      { ...feedback, names: namesIn(callsDeleteForm.schema) },
    ),
    post(
      "/graphql",
      {
        query:
          "query P($name: String!, $entityName: String!) { project(name: $name, entityName: $entityName) { name } }",
        variables: { entityName: "local", name: "p" },
      },
      { ...feedback, names: namesIn(graphqlForm.schema) },
    ),
    get("/server_info", { scheme: "Basic" }),
    { method: "DELETE", path: "/v1/preview/projects/local/gone/traces", names: names.page },
    post(
      "/obj/delete",
      { project_id: "local/p", object_id: "gone", digests: ["none"] },
      { ...feedback, names: namesIn(objectDeleteForm.schema) },
    ),
    post(
      "/feedback/history",
      { project_id: "local/p", feedback_id: feedbackIds[0], limit: 5 },
      { ...feedback, names: namesIn(feedbackHistoryForm.schema) },
    ),
    post(
      "/feedback/query",
      { project_id: "local/p", query: equals("weave_ref", "w:///local/p/call/1"), limit: 5 },
      queried,
    ),
    post("/feedback/query", { project_id: "local/p", ...anyQuery }, queried),
    post(
      "/feedback/export",
      { project_id: "local/p", query: equals("weave_ref", "w:///local/p/call/1"), format: "csv" },
      { ...feedback, names: namesIn(feedbackExportSchema) },
    ),
    post(
      "/feedback/stats",
      { project_id: "local/p", query: anyQuery.query },
      { ...feedback, names: namesIn(feedbackStatisticsRequestSchema) },
    ),
    post(
      "/feedback/purge",
      { project_id: "local/p", query: equals("id", "none") },
      { ...feedback, names: namesIn(feedbackPurgeForm.schema) },
    ),
    ...queueRequests(world),
    ...tuningRequests(world),
    ...tinkerRequests(world),
    ...traceRequests(),
    post(
      models,
      { entity: "local", project: "p", name: "fuzzed", base_model: "tiny", return_existing: true },
      { names: namesIn(modelCreateForm.schema) },
    ),
    post(
      webhooks,
      { url: "http://127.0.0.1:1/", events: ["feedback.created", "training_ended"], project_id: "local/p" },
      { names: namesIn(webhookCreateForm.schema), schema: webhookCreateForm.schema },
    ),
    get(`${webhooks}?limit=2&order=asc`),
    get(`${webhooks}/${jobId}`),
    post(
      `${webhooks}/${jobId}`,
      { events: ["feedback.purged"], enabled: false },
      { names: namesIn(webhookChangeForm.schema) },
    ),
    { method: "DELETE", path: `${webhooks}/${jobId}`, names: names.page },
    get(`${webhooks}/${jobId}/deliveries?state=failed&limit=5`),
    post(
      `${webhooks}/${jobId}/replay`,
      { failed_since: "2026-11-26T00:00:00Z" },
      { names: namesIn(webhookReplayForm.schema) },
    ),
    post(`${jobs}/${jobId}/cancel`, undefined),
    { method: "DELETE", path: `${models}/${spareModelId}`, names: names.page },
    {
      method: "DELETE",
      path: `${models}/${modelId}/checkpoints`,
      body: { steps: [0, 7] },
      names: namesIn(checkpointDeleteForm.schema),
    },
    get(`${models}?limit=5&order=asc&project=p`),
    get(`${models}/${modelId}`),
    get(`${models}/${modelId}/checkpoints?limit=2`),
    get(`${models}/${modelId}/trajectories?split=train&limit=1`),
    get(`${models}/${modelId}/metrics?limit=3&order=desc`),
    get(`${jobs}?state=succeeded&limit=2&model_id=${modelId}`),
    get(`${jobs}/${jobId}`),
    get(`${jobs}/${jobId}/events?limit=5`),
    get(`${jobs}/${jobId}/events`, { headers: { accept: "text/event-stream" } }),
    post(`${jobs}/${jobId}/replay`, undefined),
    post(`${jobs}/${jobId}/retry`, undefined),
    post("/v1/files", validForm, { headers: { "content-type": formType }, oddBody: oddForm }),
    post(`${models}/${modelId}/checkpoints`, validTar, {
      headers: { "content-type": "application/x-tar" },
      oddBody: oddTar,
    }),
    post(`${models}/${modelId}/accept-base`, undefined),
    { method: "PUT", path: `${models}/${modelId}/checkpoints/1/pin`, names: names.page },
    { method: "DELETE", path: `${models}/${modelId}/checkpoints/1/pin`, names: names.page },
    get(`${models}/${modelId}/checkpoints/1`),
    get(`${models}/${modelId}/checkpoints/1/export?format=peft`),
    get(`${models}/${modelId}/checkpoints/0/export?format=merged`),
    get(`/v1/chat/completions?limit=2&order=asc&feedback=any&model=${modelId}&since=2026-11-22T12:00:00Z`),
    get(`/v1/chat/completions?limit=2&order=desc&model=${modelId}&metadata[topic]=stories`),
    get("/v1/chat/completions/recorded?project=local%2Fp"),
    get("/v1/chat/completions/recorded/messages?limit=2"),
    { method: "DELETE", path: "/v1/chat/completions/recorded?project=local%2Fp", names: names.page },
    get(`${models}/${modelId}/trajectories/outlines?limit=2&reward_min=0&order=asc`),
    get(`${models}/${modelId}/trajectories/counts?step=0`),
    get(`${models}/${modelId}/trajectories/1`),
    get(`${models}/${modelId}/trajectories/rows?limit=2&reward_min=0`),
    get(`${models}/${modelId}/trajectories/export?format=jsonl&split=train`),
    get(`${models}/${modelId}/trajectories/export?format=parquet`),
    get(`${models}/${modelId}/trajectories/export?format=groups`),
    get("/v1/files?limit=2&purpose=fine-tune"),
    get(`/v1/files/${fileId}`),
    get(`/v1/files/${fileId}/content`),
    { method: "DELETE", path: `/v1/files/${fileId}`, names: names.page },
    get("/v1/preview/key"),
    post(
      keys,
      { name: "ci", scopes: ["chat", "read"], project: "p", expires_at: "2999-01-01T00:00:00Z" },
      { names: namesIn(keyCreateForm.schema), schema: keyCreateForm.schema },
    ),
    get(`${keys}?limit=2&entity=local`),
    get("/v1/preview/entities/local/limits"),
    post(
      "/v1/preview/entities/fuzzed/limits",
      { requests_per_minute: 1000, queued_jobs: null },
      { names: namesIn(entityLimitsForm.schema), schema: entityLimitsForm.schema },
    ),
    get("/v1/preview/usage?from=2026-01-01&to=2026-12-31&entity=local&limit=3"),
    get("/v1/preview/usage/export?model=tiny"),
    get("/v1/preview/summary"),
    get("/v1/preview/logs?level=warn&limit=3&order=asc"),
    get("/v1/preview/retention?entity=local"),
    post("/v1/preview/base-models/hone-tiny/load", undefined),
    post("/v1/preview/base-models/hone-tiny/unload", undefined),
    post("/v1/preview/retention/sweep", { dry_run: true }, { names: ["dry_run"] }),
    get(`${keys}/${jobId}`),
    post(`${keys}/${jobId}`, { scopes: ["read"], name: null }, { names: namesIn(keyChangeForm.schema) }),
    post(`${keys}/${jobId}/rotate`, { grace_seconds: 60 }, { names: ["grace_seconds"] }),
    { method: "DELETE", path: `${keys}/${jobId}`, names: names.page },
    get("/v1/models"),
    get(`/v1/models/${modelId}:step0`),
    get("/v1/models/local%2Fp%2Ffuzzed"),
    { method: "DELETE", path: "/v1/models/gone", names: [] },
    get("/version", { scheme: "none" }),
    get("/v1/preview/base-models"),
    ...["/health", "/v1/health", "/ping", "/load", "/metrics"].map((path) => get(path, { scheme: "none" })),
    get("/v1/system-check", { scheme: "none" }),
    get("/", { scheme: "none" }),
    get("/docs/static/swagger-ui.css", { scheme: "none" }),
  ];
}
