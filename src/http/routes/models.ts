// Trained models: registering, listing, reading and deleting them.
import { Type } from "typebox";
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../domain/access.ts";
import { newUuid } from "../../domain/ids.ts";
import type { ModelVersion, TrainedModel } from "../../domain/model.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { refuseOtherEntity } from "../authentication.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { readBody } from "../input/body.ts";
import { readQuery } from "../input/query.ts";
import { newFindings, refuseFaults, report } from "../input/validation.ts";
import { modelBody, modelCreateForm } from "../wire/model.ts";
import { pageBody, pageOf, pageQueryFields, pageRequest } from "../wire/page.ts";
import { allVersions, cancelJobs } from "./model-remains.ts";
import { reachModel } from "./reach.ts";

const modelQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
});

const documented = { tags: ["models"], security: [{ bearer: [] }] };

interface ModelPath {
  Params: { model_id: string };
}

export function modelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models } = dependencies;
  app.post(
    "/v1/preview/models",
    { schema: { summary: "Register a model to train", body: modelCreateForm.schema, ...documented } },
    async (request, reply) => {
      const body = readBody(modelCreateForm, request, reply);
      return modelBody(await register(dependencies, request.caller, toRegistration(body, request.caller)));
    },
  );
  app.get(
    "/v1/preview/models",
    { schema: { summary: "List models", querystring: modelQuerySchema, ...documented } },
    async (request, reply) => {
      const value = readQuery(modelQuerySchema, request, reply);
      const { caller } = request;
      const found = await models.list({
        entity: caller.role === "admin" ? (value.entity ?? null) : caller.entity,
      });
      const matching = found.filter(
        ({ entity, project, name }) =>
          entity === (value.entity ?? entity) &&
          project === (value.project ?? project) &&
          name === (value.name ?? name),
      );
      const page = pageRequest(value, "desc");
      return pageBody(
        knownPage(pageOf(page.order === "desc" ? matching : matching.toReversed(), page)),
        modelBody,
      );
    },
  );
  app.get<ModelPath>(
    "/v1/preview/models/:model_id",
    { schema: { summary: "Read a model", ...documented } },
    async (request) => modelBody(await reachModel(dependencies, request.caller, request.params.model_id)),
  );
  app.delete<ModelPath>(
    "/v1/preview/models/:model_id",
    { schema: { summary: "Delete a model with everything of it", ...documented } },
    async (request) => {
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      await cancelJobs(dependencies, model.id);
      const steps = (await allVersions(models, model.id)).map(({ step }) => step);
      await models.delete(model.id);
      await dependencies.onVersionsDeleted(model.id, steps);
      return { model_id: model.id, deleted_checkpoints: steps.length, deleted_run: false };
    },
  );
}

interface Registration {
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  readonly returnExisting: boolean;
}

interface ModelCreateBody {
  readonly entity?: string | null;
  readonly project: string;
  readonly name: string;
  readonly base_model: string;
  readonly return_existing?: boolean | null;
}

/** @throws ServiceError `invalid` for names that could not be part of `entity/project/name:stepN` */
function toRegistration(body: ModelCreateBody, caller: Caller): Registration {
  const { project, name, base_model: baseModel } = body;
  const entity = (body.entity ?? "") === "" ? caller.entity : (body.entity ?? caller.entity);
  const findings = newFindings("body");
  for (const [field, text] of Object.entries({ entity, project, name })) {
    // oxlint-disable-next-line no-control-regex -- control characters are what must not be in a name
    if (!/[\s/:\u0000-\u001f\u007f]/.test(text)) continue;
    const message = `Value error, ${field} is ${JSON.stringify(text)}; it may hold no blanks, slashes or colons.`;
    report(findings, "value_error", message, field);
  }
  refuseFaults(findings.faults);
  return { entity, project, name, baseModel, returnExisting: body.return_existing ?? false };
}

async function register(
  dependencies: HttpDependencies,
  caller: Caller,
  registration: Registration,
): Promise<TrainedModel> {
  const { entity, project, name, baseModel } = registration;
  refuseOtherEntity(caller, entity, `The entity ${JSON.stringify(entity)}`, "body", "entity");
  refuseUnknownBase(dependencies.baseModels, baseModel);
  const { models, clock } = dependencies;
  const existing = await models.findByName(entity, project, name);
  if (existing !== null) return reuse(existing, registration);
  const model = { id: newUuid(), entity, project, name, baseModel, createdAt: clock.now() };
  try {
    await models.create(model, versionZero(model));
    return model;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "conflict") throw error;
    // Somebody registered the name a moment ago.
    const other = await models.findByName(entity, project, name);
    if (other === null) throw error;
    return reuse(other, registration);
  }
}

function refuseUnknownBase(baseModels: readonly string[], baseModel: string): void {
  if (baseModels.includes(baseModel)) return;
  const message = `There is no base model ${JSON.stringify(baseModel)}; this server has ${baseModels.join(", ")}.`;
  const faults = [{ location: ["body", "base_model"], message, type: "not_found" }];
  throw new ServiceError({ code: "not_found", message, faults });
}

function reuse(existing: TrainedModel, { name, baseModel, returnExisting }: Registration): TrainedModel {
  const conflict = (field: string, message: string): ServiceError =>
    new ServiceError({
      code: "conflict",
      message,
      faults: [{ location: ["body", field], message, type: "conflict" }],
    });
  if (existing.baseModel !== baseModel) {
    const message = `The model ${JSON.stringify(name)} exists over the base model ${existing.baseModel}, not ${baseModel}; take another name.`;
    throw conflict("base_model", message);
  }
  if (!returnExisting) {
    throw conflict("name", `The model ${JSON.stringify(name)} exists; send return_existing to use it.`);
  }
  return existing;
}

function versionZero(model: TrainedModel): ModelVersion {
  return {
    id: newUuid(),
    modelId: model.id,
    step: 0,
    adapterFolder: null,
    trainerState: null,
    jobId: null,
    metrics: {},
    createdAt: model.createdAt,
  };
}

/** @throws ServiceError `invalid` where the cursor named no item */
export function knownPage<P>(page: P | null): P {
  if (page !== null) return page;
  const message = "`after` is the id of no item of this list; start without it.";
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message, faults });
}
