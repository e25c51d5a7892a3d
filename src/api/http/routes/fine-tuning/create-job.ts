// Creates a fine-tuning job: reads its files, registers the model that it trains, and submits its training job.
import type { FastifyRequest } from "fastify";
import type {
  FineTuningJob,
  FineTuningMethodName,
  FineTuningOrder,
} from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { JobTask } from "../../../../base/domain/job.ts";
import { adapterOfServer, type TrainedModel } from "../../../../base/domain/model.ts";
import { newUuid7, secureBytes } from "../../../../base/domain/random.ts";
import { stepCountOf } from "../../../../train/fine-tuning/step-items.ts";
import { newJob } from "../../../../train/jobs/new-job.ts";
import {
  dpoConfigOf,
  resolveHyperparameters,
  supervisedConfigOf,
} from "../../../../train/fine-tuning/hyperparameters.ts";
import { locate } from "../../../wire/field-paths.ts";
import { fileIdIn } from "../../../wire/files/file-url.ts";
import { methodOf, type SentFineTuningJob } from "../../../wire/fine-tuning/create-job.ts";
import { linesIn, type PackedLines } from "../../../wire/packed-lines.ts";
import { requirePairs } from "../../../wire/preferences/preference-job.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { madeBy } from "../submit-job.ts";
import { graderOf, refuseManySteps } from "./job-grader.ts";
import type { FileReaders } from "../supervised/files.ts";
import { atField, type NamedFile, readNamedFile } from "../supervised/named-file.ts";

/** Project of models that are trained from a base model. */
const usualProject = "fine-tuning";

export async function createFineTuningJob(
  sent: SentFineTuningJob,
  request: FastifyRequest,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<FineTuningJob> {
  const { name } = methodOf(sent);
  const grader = await graderOf(sent, request, dependencies);
  const start = await dependencies.directory.find(sent.model, request.caller).catch((error: unknown) => {
    throw locate(error, modelPaths);
  });
  await dependencies.room.require(request.caller.entity);
  const read = (field: "training_file" | "validation_file", url: string) =>
    readExamples(name, { url, field, inline: otherWay }, request, dependencies, readers);
  const { lines, exampleCount } = await read("training_file", sent.training_file);
  const validation = sent.validation_file ? await read("validation_file", sent.validation_file) : noExamples;
  const order = { ...orderOf(sent, start.base, exampleCount, request), ...grader };
  refuseManySteps(order);
  const model = await registerModel(order, start.projectId, request, dependencies);
  try {
    const data = { lines: [...lines, ...validation.lines], heldOutCount: validation.exampleCount };
    return await submit(order, model, data, request, dependencies);
  } catch (error) {
    await dependencies.models.delete(model);
    throw locate(error, modelPaths);
  }
}

const modelPaths = {
  model: ["body", "model"],
  not_found: ["body", "model"],
  forbidden: ["body", "model"],
};

/** For error messages about a file that is not on this server: how to send the data instead. */
const otherWay = "a file that you upload to /v1/files";

interface Examples {
  readonly lines: PackedLines;
  readonly exampleCount: number;
}

const noExamples: Examples = { lines: [], exampleCount: 0 };

async function readExamples(
  method: FineTuningMethodName,
  named: NamedFile & { readonly field: "training_file" | "validation_file" },
  request: FastifyRequest,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<Examples> {
  if (method === "reinforcement") {
    const kind = named.field === "training_file" ? "item file" : "validation file";
    const { itemCount } = await readNamedFile(kind, named, request, dependencies, readers);
    return { lines: [], exampleCount: itemCount };
  }
  if (method === "supervised") {
    const file = await readNamedFile("conversation file", named, request, dependencies, readers);
    return { lines: file.lines, exampleCount: file.conversationCount };
  }
  const file = await readNamedFile("preference file", named, request, dependencies, readers);
  try {
    requirePairs({ loss: "dpo" }, file);
  } catch (error) {
    throw atField(error, named.field);
  }
  return { lines: file.lines, exampleCount: file.preferenceCount };
}

function orderOf(
  sent: SentFineTuningJob,
  baseModel: string,
  exampleCount: number,
  { caller, headers }: FastifyRequest,
): FineTuningOrder {
  const { name: method, sent: asked } = methodOf(sent);
  const fileId = (url: string): string => fileIdIn(url, headers.host ?? null) ?? url;
  return {
    model: sent.model,
    baseModel,
    trainingFile: fileId(sent.training_file),
    validationFile: sent.validation_file ? fileId(sent.validation_file) : null,
    suffix: sent.suffix ?? null,
    seed: sent.seed ?? randomSeed(),
    // Safe cast: the schema allows only texts as values.
    metadata: (sent.metadata ?? null) as Readonly<Record<string, string>> | null,
    method,
    hyperparameters: resolveHyperparameters(method, asked, exampleCount),
    grader: null,
    responseFormat: null,
    exampleCount,
    keyId: caller.keyId,
    keyOwner: caller.owner,
  };
}

function randomSeed(): number {
  return Buffer.from(secureBytes(4)).readUInt32BE() >>> 1;
}

/**
 * Registers the model that a job trains. If the job starts from a version of a trained model, the new model belongs to
 * the same project and begins with a copy of this version.
 */
async function registerModel(
  { model: name, baseModel, suffix }: FineTuningOrder,
  projectId: string | null,
  { caller }: FastifyRequest,
  { models, clock }: HttpDependencies,
): Promise<TrainedModel> {
  const [entity, project] = projectId?.split("/") ?? [caller.entity, caller.project ?? usualProject];
  const registration = {
    entity,
    project,
    name: `${suffix ?? baseModel.replaceAll(/[\s/:%]/g, "-")}-${newUuid7(clock).slice(-12)}`,
    baseModel,
    adapter: adapterOfServer,
    from: projectId === null ? null : { model: name, step: null },
    returnExisting: false,
  };
  // The model's name has the suffix in it.
  return models.register(registration, caller).catch((error: unknown) => {
    throw locate(error, { name: ["body", "suffix"] });
  });
}

async function submit(
  order: FineTuningOrder,
  { id: modelId, entity, project }: TrainedModel,
  { lines, heldOutCount }: { readonly lines: PackedLines; readonly heldOutCount: number },
  request: FastifyRequest,
  { clock, fineTuning, jobQueue }: HttpDependencies,
): Promise<FineTuningJob> {
  const createdAt = clock.now();
  const job: FineTuningJob = {
    id: `ftjob-${newUuid7(clock)}`,
    entity,
    project,
    modelId,
    order,
    state: "queued",
    trainingJobId: null,
    progress: { stepCountTotal: stepCountOf(order), steps: [], events: [] },
    errorMessage: null,
    createdAt,
    endedAt: null,
  };
  if (order.method === "reinforcement") {
    await fineTuning.create(job);
    return job;
  }
  const identity = {
    id: newUuid7(clock),
    modelId,
    task: taskOf(order, heldOutCount),
    configNotApplied: [],
    createdAt,
  };
  const training = newJob({ ...identity, ...madeBy(request) });
  await jobQueue.submit(training, linesIn(lines), null, { keyId: order.keyId });
  const submitted: FineTuningJob = { ...job, state: "running", trainingJobId: training.id, progress: null };
  await fineTuning.create(submitted);
  return submitted;
}

function taskOf({ method, hyperparameters, seed }: FineTuningOrder, heldOutCount: number): JobTask {
  const heldOut = heldOutCount === 0 ? {} : { heldOutCount };
  return method === "dpo"
    ? { kind: "preference", config: { ...dpoConfigOf(hyperparameters, seed), ...heldOut } }
    : { kind: "sft", config: { ...supervisedConfigOf(hyperparameters, seed), ...heldOut } };
}
