// View of a project's traces: the root call of each, newest first, with filters, page by page.
import type { WeaveCall } from "../../client/api.ts";
import { costSum } from "../../client/cost-text.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { filledIn } from "../components/filters.ts";
import { FilterChoice, FilterForm, FilterText, FilterTime } from "../components/filter-form.tsx";
import { timesIn } from "../components/forms/local-time.ts";
import { ProjectField, projectNamed, useProjects } from "../components/forms/projects.tsx";
import { counted, msText } from "../components/numbers.ts";
import { type ListedPage, offsetText, pagesByOffset } from "../components/paged-table.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { View, When } from "../components/shown.tsx";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import { addressOf, go, place } from "../router.ts";
import { may, session } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { callCost, callCosts, callTokens } from "./call-cost.ts";
import { CallState, stateOf } from "./call-detail.tsx";
import { callName, durationMs } from "./call-tree.ts";
import { deleteTraces, readCalls, wholeTraces } from "./read-calls.ts";
import { filtersIn, rowsPerPage, type TraceFilters, tracesQuery } from "./traces-query.ts";

const everyMs = 15_000;
/** Maximum number of characters of a call's inputs or output in the table. */
const contentMax = 200;

export function TracesView({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = filtersIn(query);
  const projects = useProjects(hone);
  const project = projectNamed(filters.project ?? projects.value?.[0] ?? "") || null;
  const after = query.get("after") ?? "0";
  const loaded = useLoaded(
    (signal) => readPage(hone, project, filters, Number(after), signal),
    [hone, project, JSON.stringify(filters), after],
    // A search takes seconds, so the page does not repeat it.
    after === "0" && filters.text === undefined ? everyMs : null,
  );
  const selection = useSelection<WeaveCall>(({ id }) => id, JSON.stringify([project, filters]));
  const traceIdsOf = (calls: readonly WeaveCall[]) => [...new Set(calls.map(({ trace_id: id }) => id))];
  const remove = async (calls: readonly WeaveCall[]): Promise<void> => {
    try {
      await deleteTraces(hone, project ?? "", traceIdsOf(calls));
      selection.clear();
    } finally {
      loaded.reload();
    }
  };
  return (
    <View
      title="Traces"
      lead="Calls that Weave's clients and OpenTelemetry's exporters recorded, the newest first."
      actions={<SavedViews />}
    >
      <Filters
        filters={filters}
        project={project ?? ""}
        projects={projects.value ?? []}
        onChange={(chosen) => go(addressOf("traces", [], { ...chosen, ...layoutIn(query) }))}
      />
      <DataList
        loaded={loaded}
        label="Traces"
        columns={columns}
        idOf={({ id }) => id}
        nameOf={callName}
        selection={selection}
        pages={(signal) => pagesByOffset((offset) => readPage(hone, project, filters, offset, signal))}
        toolbar={(calls, tableOf) => (
          <BulkActions
            rows={calls}
            table={() => tableOf(calls)}
            name="traces"
            load={() => wholeTraces(hone, project ?? "", traceIdsOf(calls))}
            {...(may("judge") && {
              removal: {
                what: counted(traceIdsOf(calls).length, "trace"),
                names: calls.map(callName),
                says: "All calls of these traces will be lost. Feedback about them stays.",
                act: () => remove(calls),
              },
            })}
          />
        )}
        filters={{ ...filters, ...(project !== null && { project }) }}
        none={() =>
          Object.keys(filters).every((name) => name === "project") ? (
            <NoTraces project={project} />
          ) : (
            "No calls match these filters."
          )
        }
      />
    </View>
  );
}

function Filters({
  filters,
  project,
  projects,
  onChange,
}: {
  readonly filters: TraceFilters;
  readonly project: string;
  readonly projects: readonly string[];
  readonly onChange: (filters: TraceFilters) => void;
}) {
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) => onChange(filtersIn(timesIn(filledIn(form), ["since", "until"])))}
      onClear={() => onChange({})}
    >
      <ProjectField projects={projects} value={project} />
      <FilterText name="text" label="Words" value={filters.text} />
      <FilterText name="name" label="Name" value={filters.name} placeholder="name of the call" />
      <FilterChoice
        name="status"
        label="State"
        value={filters.status}
        choices={[
          ["", "all"],
          ["success", "ended"],
          ["error", "failed"],
          ["running", "running"],
        ]}
      />
      <FilterTime name="since" label="Started from" value={filters.since} />
      <FilterTime name="until" label="Started before" value={filters.until} />
    </FilterForm>
  );
}

function columns(calls: readonly WeaveCall[]): readonly DataColumn<WeaveCall>[] {
  const content = (name: "inputs" | "output", isExtra: boolean): DataColumn<WeaveCall> => ({
    name,
    class: "words",
    isText: true,
    isExtra,
    value: (call) => call[name],
    cell: (call) => contentText(call[name]),
  });
  return [
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
    { name: "state", sort: stateOf, cell: (call) => <CallState of={call} /> },
    content("inputs", false),
    content("output", true),
    { name: "duration", isNumber: true, sort: durationMs, cell: (call) => msText(durationMs(call)) },
    {
      name: "tokens",
      isNumber: true,
      sort: tokenCount,
      cell: (call) => tokenCount(call)?.toLocaleString("en") ?? "",
    },
    // Without prices, no call has a cost.
    ...(calls.every((call) => callCost(call) === null)
      ? []
      : [
          {
            name: "cost",
            isNumber: true,
            sort: (call: WeaveCall) => costSum(callCosts(call)).cost,
            cell: (call: WeaveCall) => callCost(call) ?? "",
          },
        ]),
    {
      name: "started",
      sort: ({ started_at: at }) => at,
      cell: ({ started_at: at }) => <When at={at} />,
    },
  ];
}

function tokenCount(call: WeaveCall): number | null {
  const tokens = callTokens(call);
  return tokens === null ? null : tokens.prompt + tokens.answer;
}

function contentText(content: unknown): string {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "");
  return text === "null" ? "" : text.slice(0, contentMax);
}

function NoTraces({ project }: { readonly project: string | null }) {
  const headers = [
    ...(session.value?.hasKey ? ["authorization=Bearer <key>"] : []),
    ...(project === null ? [] : [`x-hone-project=${project}`]),
  ];
  return (
    <Empty
      icon="trace"
      title={`No traces${project === null ? "" : ` in ${project}`}`}
      commands={[
        [
          `export OTEL_EXPORTER_OTLP_ENDPOINT=${location.origin}`,
          ...(headers.length === 0 ? [] : [`export OTEL_EXPORTER_OTLP_HEADERS="${headers.join()}"`]),
        ].join("\n"),
        [
          `export WF_TRACE_SERVER_URL=${location.origin} WANDB_BASE_URL=${location.origin}`,
          ...(session.value?.hasKey ? ["export WANDB_API_KEY=<key>"] : []),
        ].join("\n"),
      ]}
    >
      Set the first variables in a program with an OpenTelemetry exporter, or the others in a program with
      Weave, and its calls appear here.
    </Empty>
  );
}

async function readPage(
  hone: Hone,
  project: string | null,
  filters: TraceFilters,
  offset: number,
  signal: AbortSignal,
): Promise<ListedPage<WeaveCall>> {
  if (project === null) return { rows: [], last: null };
  const calls = await readCalls(hone, tracesQuery(project, filters, offset), signal);
  return {
    rows: calls.slice(0, rowsPerPage),
    last: calls.length > rowsPerPage ? offsetText(offset + rowsPerPage) : null,
    before: offset === 0 ? null : offsetText(offset - rowsPerPage),
  };
}
