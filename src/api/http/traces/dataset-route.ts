// Route that converts a project's traced chats to a training file.
import type { FastifyInstance } from "fastify";
import { reachProject } from "../../../base/domain/project.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { tracedDataset, type TracedDataset } from "../../../train/rewards/traces/traced-dataset.ts";
import { filePurpose } from "../../wire/files/file.ts";
import {
  datasetAnswer,
  datasetAnswerSchema,
  datasetForm,
  datasetRequest,
  rowFault,
} from "../../wire/traces/dataset-request.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { projectInPath } from "../weave/weave-endpoints.ts";

export function tracedDatasetRoute(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { traces, feedback, files, room } = dependencies;
  endpoints(app, { tag: "traces", scheme: "bearer" })(
    "POST /v1/preview/projects/:entity/:project/datasets/from-traces",
    {
      summary: "Make a training file of a project's traces",
      description:
        "Writes the chats of traced calls into an uploaded file, which supervised and preference training jobs accept. With `dry_run`, only reports what the file would contain.",
      documented: projectInPath,
      body: datasetForm,
      answer: "The file, or what it would contain.",
      json: datasetAnswerSchema,
      fieldPaths: { project_id: ["path", "project"] },
      options: readsPage,
    },
    async ({ params, body, caller }) => {
      const projectId = `${params.entity}/${params.project}`;
      const { entity } = reachProject(projectId, caller);
      const source = {
        tenant: caller.entity,
        faultOf: rowFault,
        list: (...[filter, slice]: ListArguments) => traces.calls.list(projectId, filter, slice, caller),
        feedback: async (condition: Parameters<typeof feedback.query>[0]["condition"]) =>
          (await feedback.query({ projectId, condition, sortBy: [], limit: recordsMax, offset: 0 }, caller))
            .items,
      };
      const dataset = await tracedDataset(source, datasetRequest(body, projectId));
      if (body.dry_run === true) return datasetAnswer(dataset, null);
      if (dataset.rows.length === 0) throw noRows(dataset);
      await room.require(entity);
      const received = await files.receive(linesOf(dataset.rows));
      const about = { entity, name: `traces-${body.kind}.jsonl`, purpose: filePurpose };
      return datasetAnswer(dataset, (await files.keep(received, about)).id);
    },
  );
}

type Calls = HttpDependencies["traces"]["calls"];
type ListArguments = [filter: Parameters<Calls["list"]>[1], slice: Parameters<Calls["list"]>[2]];

/** Maximum number of feedback records on the calls of one page. */
const recordsMax = 10_000;

async function* linesOf(rows: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const row of rows) yield Buffer.from(`${row}\n`);
}

function noRows({ callCount, leftOut }: TracedDataset): ServiceError {
  const reasons = [...leftOut].map(([reason, count]) => `${count} because ${reason}`).join("; ");
  const why = callCount === 0 ? "no call matches the selection" : reasons;
  return new ServiceError({ code: "invalid", message: `The file would be empty: ${why}.` });
}
