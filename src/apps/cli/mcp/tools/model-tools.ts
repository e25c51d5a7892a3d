// Tools for models and their versions.
import * as z from "zod";
import { findNamed } from "../../names/named-version.ts";
import { given, modelName, pageOf, paging, projectName, toPage } from "../fields.ts";
import { tool } from "../tool.ts";

const model = z.object({
  id: z.string(),
  name: z.string().describe("Name for chats and for other tools: `entity/project/name`."),
  base_model: z.string(),
  created_at: z.string(),
});

const listModels = tool({
  name: "list_models",
  title: "List models",
  description:
    "Lists trained models, newest first, and the names of all base models. Both kinds of names can be chatted with; only trained models have versions, recorded chats and jobs.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    ...paging,
    project: projectName
      .optional()
      .describe("Only trained models of this project. Give only the project's name, not `entity/project`."),
  }),
  output: z.object({
    ...pageOf(model),
    base_models: z.array(z.string()).describe("Base models; the first is the default model."),
  }),
  run: async ({ limit, after, project }, { hone, signal }) => {
    const [found, bases] = await Promise.all([
      hone.models.list({ limit, ...given({ after, project }) }, { signal }).first(),
      hone.served.bases({ signal }),
    ]);
    return { ...toPage(found, toModel), base_models: [...bases] };
  },
});

const createModel = tool({
  name: "create_model",
  title: "Create a model to train",
  description:
    "Registers a model that training jobs train, with adapters on a base model. Hone records the chats of such a model. If the model exists already with the same base model, it is returned unchanged.",
  effect: "adds",
  isIdempotent: true,
  input: z.strictObject({
    name: z.string().min(3).max(500).describe("New name: `project/name`, or `entity/project/name`."),
    base_model: z.string().min(1).max(300).describe("Base model, as listed by list_models."),
  }),
  output: model,
  run: async ({ name, base_model: base }, { hone, signal }) => {
    const { details } = await hone.model(name, { base, signal });
    return toModel(details);
  },
});

const listVersions = tool({
  name: "list_versions",
  title: "List versions of a model",
  description:
    "Lists the versions of a trained model, newest first, with the rewards of their training and validation data. Version 0 is the base model.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    model: modelName,
    ...paging,
    all_metrics: z.boolean().default(false).describe("True for all metrics; false for rewards only."),
  }),
  output: z.object(
    pageOf(
      z.object({
        step: z.number().describe("Number of the version."),
        name: z.string().describe("Name for chats."),
        created_at: z.string(),
        job_id: z.string().nullable().describe("Job that made the version."),
        pinned: z.boolean().describe("True if the version is protected from automatic deletion."),
        metrics: z.record(z.string(), z.number()),
      }),
    ),
  ),
  run: async ({ model: wanted, limit, after, all_metrics: isAll }, { hone, signal }) => {
    const { model: found } = await findNamed(hone, wanted);
    const query = { order: "desc", limit, ...given({ after }) } as const;
    const versions = await hone.checkpoints.list(found.id, query, { signal }).first();
    return toPage(versions, ({ step, created_at, job_id, pinned, metrics }) => ({
      step,
      name: `${toModel(found).name}:step${step}`,
      created_at,
      job_id,
      pinned,
      metrics: isAll ? metrics : rewardsOf(metrics),
    }));
  },
});

function toModel({
  id,
  entity,
  project,
  name,
  base_model,
  created_at,
}: {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly base_model: string;
  readonly created_at: string;
}): z.input<typeof model> {
  return { id, name: `${entity}/${project}/${name}`, base_model, created_at };
}

function rewardsOf(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.endsWith("/reward")));
}

export const modelTools = [listModels, createModel, listVersions];
