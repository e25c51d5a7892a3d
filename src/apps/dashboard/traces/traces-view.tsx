// View of a project's traces: the root call of each, newest first, page by page.
import type { WeaveCall } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { filledIn } from "../components/filters.ts";
import { FilterForm } from "../components/filter-form.tsx";
import { ProjectField, projectNamed, useProjects } from "../components/forms/projects.tsx";
import { msText } from "../components/numbers.ts";
import type { ListedPage } from "../components/paged-table.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { View, When } from "../components/shown.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { CallState } from "./call-detail.tsx";
import { callName, durationMs } from "./call-tree.ts";
import { outlineColumns, readCalls } from "./read-calls.ts";

const limit = 50;
const everyMs = 15_000;
/** Maximum number of characters of a call's inputs in the table. */
const inputsMax = 200;

export function TracesView({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const projects = useProjects(hone);
  const project = projectNamed(query.get("project") ?? projects.value?.[0] ?? "") || null;
  const after = query.get("after") ?? "0";
  const loaded = useLoaded(
    (signal) => readPage(hone, project, Number(after), signal),
    [hone, project, after],
    after === "0" ? everyMs : null,
  );
  return (
    <View
      title="Traces"
      lead="Calls that Weave's clients and OpenTelemetry's exporters recorded, the newest first."
      actions={<SavedViews />}
    >
      <FilterForm
        filters={query.has("project") ? { project } : {}}
        onSubmit={(form) => go(addressOf("traces", [], { project: filledIn(form).get("project") ?? "" }))}
        onClear={() => go(addressOf("traces"))}
      >
        <ProjectField projects={projects.value ?? []} value={project ?? ""} />
      </FilterForm>
      <DataList
        loaded={loaded}
        label="Traces"
        columns={columns}
        idOf={({ id }) => id}
        filters={project === null ? {} : { project }}
        none={() => <NoTraces project={project} />}
      />
    </View>
  );
}

const columns: readonly DataColumn<WeaveCall>[] = [
  {
    name: "call",
    class: "words",
    isText: true,
    sort: callName,
    cell: (call) => (
      <a href={addressOf("traces", [call.trace_id], { project: call.project_id })} data-row>
        {callName(call)}
      </a>
    ),
  },
  { name: "state", cell: (call) => <CallState of={call} /> },
  {
    name: "inputs",
    class: "words",
    isText: true,
    cell: ({ inputs }) => JSON.stringify(inputs).slice(0, inputsMax),
  },
  { name: "duration", isNumber: true, sort: durationMs, cell: (call) => msText(durationMs(call)) },
  {
    name: "started",
    sort: ({ started_at: at }) => at,
    cell: ({ started_at: at }) => <When at={at} />,
  },
];

function NoTraces({ project }: { readonly project: string | null }) {
  return (
    <Empty
      icon="trace"
      title={`No traces${project === null ? "" : ` in ${project}`}`}
      commands={[
        `export OTEL_EXPORTER_OTLP_ENDPOINT=${location.origin}`,
        `export WF_TRACE_SERVER_URL=${location.origin}`,
      ]}
    >
      Set one of these variables in a program with an OpenTelemetry exporter or with Weave, and its calls
      appear here.
    </Empty>
  );
}

async function readPage(
  hone: Hone,
  project: string | null,
  offset: number,
  signal: AbortSignal,
): Promise<ListedPage<WeaveCall>> {
  if (project === null) return { rows: [], last: null };
  const query = {
    project_id: project,
    filter: { trace_roots_only: true },
    sort_by: [{ field: "started_at" as const, direction: "desc" as const }],
    columns: ["inputs", ...outlineColumns],
    offset,
    // The one additional call is not shown. It is there if there is a next page.
    limit: limit + 1,
  };
  const calls = await readCalls(hone, query, signal);
  return { rows: calls.slice(0, limit), last: calls.length > limit ? String(offset + limit) : null };
}
