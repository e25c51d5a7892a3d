// Valid requests to the Tinker API. All operations have the sequence number 0, so that the server accepts them in any
// order.
import {
  recorded,
  recordedData,
  recordedForward,
} from "../../src/api/http/tinker/testing/recorded-bodies.ts";
import { computeForm } from "../../src/api/wire/tinker/compute-body.ts";
import { futureForm } from "../../src/api/wire/tinker/future-bodies.ts";
import {
  createModelForm,
  modelForm,
  stepForm,
  weightsInfoForm,
} from "../../src/api/wire/tinker/model-bodies.ts";
import { sampleForm } from "../../src/api/wire/tinker/read-sample.ts";
import { expiryForm } from "../../src/api/wire/tinker/run-bodies.ts";
import {
  loadForm,
  samplingSessionForm,
  saveExternalForm,
  saveForm,
  saveForSamplerForm,
} from "../../src/api/wire/tinker/save-bodies.ts";
import {
  configForm,
  createSessionForm,
  finishForm,
  heartbeatForm,
  telemetryForm,
} from "../../src/api/wire/tinker/session-bodies.ts";
import { requestsOf, type FuzzedWorld, type ValidRequest } from "./valid-request.ts";

const [get, post] = [requestsOf("GET"), requestsOf("POST")];

const input = {
  data: [
    {
      model_input: { chunks: [{ type: "encoded_text", tokens: [1, 2, 3] }] },
      loss_fn_inputs: {
        target_tokens: { data: [2, 3, 4], dtype: "int64", shape: [3] },
        weights: { data: [0, 1, -0.5], dtype: "float32", shape: [3] },
      },
    },
  ],
  loss_fn: "cross_entropy",
};

export function tinkerRequests({ sessionId }: FuzzedWorld): readonly ValidRequest[] {
  const api = "/api/v1";
  const model = `${sessionId}:train:0`;
  const run = `${api}/training_runs/${model}`;
  const weights = `${run}/checkpoints/weights/first`;
  const path = `tinker://${model}/weights/first`;
  const sampler = `${sessionId}:sample:0`;
  const protobuf = { headers: { "content-type": "application/x-protobuf" } };
  const other = { seq_id: 0, path: "other", ttl_seconds: 3600, user_metadata: { a: "b" } };
  return [
    get(`${api}/healthz`),
    ...["config", "dynamic_config"].map((name) =>
      post(`${api}/client/${name}`, configForm, { sdk_version: "0.38.0" }),
    ),
    get(`${api}/get_server_capabilities`),
    post(`${api}/create_session`, createSessionForm, {
      ...recorded.createSession,
      user_metadata: { a: 1 },
      display_name: "fuzzed",
    }),
    post(`${api}/session_heartbeat`, heartbeatForm, { session_id: sessionId, type: "session_heartbeat" }),
    get(`${api}/sessions?limit=2&offset=1`),
    get(`${api}/sessions/${sessionId}`),
    post(`${api}/sessions/none/finish`, finishForm, { reason: { type: "done" }, detail: "done" }),
    post(`${api}/telemetry`, telemetryForm, { events: [{ event: "SESSION_START" }], session_id: sessionId }),
    post(`${api}/create_model`, createModelForm, recorded.createModel(sessionId)),
    post(`${api}/get_info`, modelForm, { model_id: model, type: "get_info" }),
    post(`${api}/weights_info`, weightsInfoForm, { tinker_path: path }),
    post(`${api}/optim_step`, stepForm, recorded.optimStep(model, 0)),
    post(`${api}/save_weights`, saveForm, { ...recorded.saveWeights(model, 0), ...other, overwrite: true }),
    post(`${api}/save_weights_for_sampler`, saveForSamplerForm, recorded.saveForSampler(model, 0)),
    post(`${api}/save_weights_external`, saveExternalForm, {
      model_id: model,
      seq_id: 0,
      path: "third",
      ttl_seconds: 3600,
      age_encryption_recipients: [],
    }),
    post(`${api}/load_weights`, loadForm, recorded.loadWeights(sessionId, path)),
    post(`${api}/load_weights`, loadForm, { model_id: model, seq_id: 0, path, optimizer: false }),
    post(`${api}/unload_model`, modelForm, { model_id: `${sessionId}:train:1`, type: "unload_model" }),
    post(`${api}/forward`, computeForm, { model_id: model, seq_id: 0, forward_input: input }),
    post(`${api}/forward`, {}, recordedForward(model, 0), protobuf),
    post(`${api}/forward_backward`, computeForm, {
      model_id: model,
      seq_id: 0,
      forward_backward_input: { ...input, loss_fn_config: {} },
    }),
    ...(["crossEntropy", "ppo"] as const).map((kind) =>
      post(`${api}/forward_backward`, {}, recordedData(kind, model, 0), protobuf),
    ),
    post(`${api}/retrieve_future`, futureForm, { request_id: "sample-none", allow_metadata_only: true }),
    post(`${api}/create_sampling_session`, samplingSessionForm, {
      session_id: sessionId,
      sampling_session_seq_id: 0,
      model_path: path,
    }),
    get(`${api}/samplers/${sampler}`),
    post(`${api}/asample`, sampleForm, recorded.sample(sampler)),
    post(`${api}/asample`, sampleForm, {
      prompt: { chunks: [{ tokens: [1, 2] }] },
      sampling_params: { max_tokens: 2, stop: ["a"], seed: 3, temperature: 0 },
      base_model: "tiny",
      topk_prompt_logprobs: 2,
      prompt_logprobs_last_n: 1,
    }),
    get(`${api}/training_runs?limit=2&offset=1`),
    get(run),
    get(`${run}/checkpoints`),
    requestsOf("DELETE")(`${run}/checkpoints/weights/other`),
    requestsOf("PUT")(`${weights}/ttl`, expiryForm, { ttl_seconds: 3600 }),
    get(`${weights}/archive`),
    get(`${weights}/external_weights_urls`),
    get(`${api}/external_weights/none/adapter_config.json`),
    get(`${api}/checkpoints?limit=2&offset=1`),
  ];
}
