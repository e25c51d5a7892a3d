// View of a project's feedback: filters, statistics of each type, and the records with links to their chats.
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { filledIn } from "../components/filters.ts";
import { FilterForm, FilterText, FilterTime } from "../components/filter-form.tsx";
import { Icon } from "../components/icon.tsx";
import { useOpenProject } from "../components/forms/open-project.ts";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { ProjectField, projectNamed } from "../components/forms/projects.tsx";
import { saveFile } from "../components/save-file.ts";
import { View } from "../components/shown.tsx";
import { ActionButton } from "../components/forms/action-button.tsx";
import { timesIn } from "../components/forms/local-time.ts";
import { addressOf, go, place } from "../router.ts";
import { conditionOf, type FeedbackFilters, filtersIn } from "./feedback-query.ts";
import { FeedbackTable } from "./feedback-table.tsx";
import { TypeStats } from "./type-stats.tsx";

export function FeedbackView({ hone }: { readonly hone: Hone }) {
  const filters = filtersIn(place.value.query);
  const { project, projects } = useOpenProject(
    hone,
    projectNamed(filters.project ?? ""),
    async (project_id, signal) => (await hone.feedback.stats({ project_id }, { signal })).types.length > 0,
  );
  const save = async (projectId: string): Promise<void> => {
    const query = conditionOf(filters);
    const bytes = await hone.feedback.export({ project_id: projectId, query, format: "csv" });
    await saveFile(bytes, `${projectId.replace("/", "-")}-feedback.csv`, "text/csv");
  };
  return (
    <View
      title="Feedback"
      lead="Judgements of people and programs about answers."
      actions={
        <>
          <SavedViews />
          {project !== null && project !== "" && (
            <ActionButton act={() => save(project)}>
              <Icon of="download" /> CSV
            </ActionButton>
          )}
        </>
      }
    >
      <Filters filters={filters} project={project ?? ""} projects={projects} />
      {project === "" && <NoFeedback project="local/my-project" />}
      {project !== null && project !== "" && (
        <>
          <TypeStats hone={hone} project={project} filters={filters} />
          <FeedbackTable
            hone={hone}
            project={project}
            filters={filters}
            none={<NoFeedback project={project} />}
          />
        </>
      )}
    </View>
  );
}

function Filters({
  filters,
  project,
  projects,
}: {
  readonly filters: FeedbackFilters;
  readonly project: string;
  readonly projects: readonly string[];
}) {
  const { type, creator, since, until } = filters;
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) =>
        go(addressOf("feedback", [], filtersIn(timesIn(filledIn(form), ["since", "until"]))))
      }
      onClear={() => go(addressOf("feedback"))}
    >
      <ProjectField projects={projects} value={project} />
      <FilterText name="type" label="Type" value={type} />
      <FilterText name="creator" label="Creator" value={creator} />
      <FilterTime name="since" label="Since" value={since} />
      <FilterTime name="until" label="Until" value={until} />
    </FilterForm>
  );
}

function NoFeedback({ project }: { readonly project: string }) {
  return (
    <Empty
      icon="feedback"
      title={`No feedback in ${project}`}
      commands={[`npx hone feedback add ${project} <request id> --emoji 👍 --url ${location.origin}`]}
    >
      Give feedback on a <a href={addressOf("conversations")}>recorded conversation</a>, answer the questions
      of a <a href={addressOf("queues")}>queue</a>, or send it from your own program.
    </Empty>
  );
}
