// Valid requests of four areas: OpenAI's fine-tuning API, uploads in parts, rollouts, and models that learn in use.
import { fineTuningJobForm } from "../../src/api/wire/fine-tuning/create-job.ts";
import { graderRunForm, graderValidateForm } from "../../src/api/wire/fine-tuning/grader-requests.ts";
import { uploadCompletionForm, uploadCreationForm } from "../../src/api/wire/files/upload.ts";
import { learningForm } from "../../src/api/wire/learning/learning.ts";
import { rolloutCreateForm, rolloutFinishForm } from "../../src/api/wire/rollouts/rollout.ts";
import { formType, oddForm, validPart } from "./odd-uploads.ts";
import { requestsOf, type FuzzedWorld, type ValidRequest } from "./valid-request.ts";

const [get, post] = [requestsOf("GET"), requestsOf("POST")];

const check = {
  type: "string_check",
  name: "exact",
  input: "{{sample.output_text}}",
  reference: "{{item.answer}}",
  operation: "ilike",
};
const judging = { model: "tiny", input: [{ role: "user", content: "Is {{ sample.output_text }} right?" }] };

const graders: readonly object[] = [
  check,
  { ...check, type: "text_similarity", operation: undefined, evaluation_metric: "rouge_l" },
  {
    type: "score_model",
    name: "score",
    range: [0, 5],
    sampling_params: { temperature: 0, seed: 1 },
    ...judging,
  },
  { type: "label_model", name: "label", labels: ["yes", "no"], passing_labels: ["yes"], ...judging },
  { type: "multi", name: "both", graders: { a: check, b: check }, calculate_output: "0.5 * a + max(b, 0.1)" },
];

const methods: readonly object[] = [
  { type: "supervised", supervised: { hyperparameters: { n_epochs: 1, batch_size: "auto" } } },
  { type: "dpo", dpo: { hyperparameters: { beta: 0.2, learning_rate_multiplier: 2 } } },
  {
    type: "reinforcement",
    reinforcement: {
      grader: check,
      response_format: { type: "text" },
      hyperparameters: { eval_interval: 1, eval_samples: 1, compute_multiplier: 0.25 },
    },
  },
];

export function tuningRequests(world: FuzzedWorld): readonly ValidRequest[] {
  const { modelId, fileId, uploadId, rolloutId, tuningJobId } = world;
  const jobs = "/v1/fine_tuning/jobs";
  const rollouts = `/v1/preview/models/${modelId}/rollouts`;
  const learning = `/v1/preview/models/${modelId}/learning`;
  const metadata = { topic: "sums" };
  return [
    ...methods.map((method) =>
      post(jobs, fineTuningJobForm, {
        model: "tiny",
        training_file: fileId,
        method,
        suffix: "fuzzed",
        seed: 7,
        metadata,
        integrations: [],
      }),
    ),
    get(`${jobs}?limit=2&metadata[topic]=sums`),
    get(`${jobs}/${tuningJobId}`),
    get(`${jobs}/${tuningJobId}/events?limit=2`),
    get(`${jobs}/${tuningJobId}/checkpoints?limit=2`),
    ...["cancel", "pause", "resume"].map((verb) => post(`${jobs}/${tuningJobId}/${verb}`)),
    ...graders.flatMap((grader) => [
      post("/v1/fine_tuning/alpha/graders/run", graderRunForm, {
        grader,
        model_sample: "Two",
        item: { answer: "two" },
      }),
      post("/v1/fine_tuning/alpha/graders/validate", graderValidateForm, { grader }),
    ]),
    post("/v1/uploads", uploadCreationForm(1_000_000), {
      filename: "a.jsonl",
      purpose: "fine-tune",
      bytes: 100,
      mime_type: "text/jsonl",
    }),
    {
      ...post(`/v1/uploads/${uploadId}/parts`, {}, validPart),
      headers: { "content-type": formType },
      oddBody: oddForm,
    },
    post(`/v1/uploads/${uploadId}/complete`, uploadCompletionForm, {
      part_ids: ["part"],
      md5: "0cc175b9c0f1b6a831c399e269772661",
    }),
    post(`/v1/uploads/${uploadId}/cancel`),
    post(rollouts, rolloutCreateForm, {
      task: { question: "one and one?" },
      group: "g",
      split: "train",
      metadata,
      expires: 60,
      follow_new_versions: true,
    }),
    get(`${rollouts}?state=open&group=g&split=train&version=0&limit=2`),
    get(`${rollouts}/${rolloutId}`),
    get(`${rollouts}/${rolloutId}/trajectories`),
    post(`${rollouts}/${rolloutId}/finish`, rolloutFinishForm, {
      reward: 0.5,
      metrics: { correct: true, length: 3 },
      call_rewards: {},
    }),
    post(`${rollouts}/${rolloutId}/cancel`),
    requestsOf("PUT")(learning, learningForm, {
      signals: ["ratings", "edits", "next_message"],
      signals_min: 5000,
      ratings: [{ kind: "number", feedback_type: "review", path: "stars", range: [1, 5] }],
      edits: { feedback_type: "fix", path: "text" },
      judge: { model: "tiny", rubric: "Short answers are good." },
      config: { loss: "kto", learning_rate: 0.001 },
    }),
    get(learning),
    get(`${learning}/cycles?limit=2&order=asc`),
    requestsOf("DELETE")(learning),
  ];
}
