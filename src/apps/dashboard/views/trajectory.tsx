// View of a stored trajectory: its turns, reward, metrics and feedback.
import type { ModelObject, StoredTrajectory } from "../../client/api.ts";
import { costText } from "../../client/cost-text.ts";
import type { Hone } from "../../client/hone.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import { callIn } from "../feedback/references.ts";
import { counted, shortNumber } from "../components/numbers.ts";
import { Facts, Shown, View, When } from "../components/shown.tsx";
import { Siblings, useGroup } from "../trajectories/members.tsx";
import { metricText } from "../trajectories/metric-text.ts";
import { RawJson } from "../trajectories/raw-json.tsx";
import { sourceText } from "../trajectories/trajectory-columns.tsx";
import { branchesOf } from "../trajectories/turns.ts";
import { TurnList } from "../trajectories/turn-view.tsx";
import { pathOfModel } from "../model/model-path.ts";
import { listPlace, sameList } from "../neighbours/list-place.ts";
import { RowNav } from "../neighbours/row-nav.tsx";
import { ReadingSwitch } from "../reading/reading-switch.tsx";
import { trajectoryNeighbours } from "../trajectories/read-page.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

/** Names of other lists that link to trajectories. */
const listNames: Readonly<Record<string, string>> = { jobs: "Groups of the job", evaluation: "Evaluation" };

export function TrajectoryView({
  hone,
  modelId,
  number,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly number: string;
}) {
  const model = useLoaded((signal) => hone.models.get(modelId, { signal }), [hone, modelId]);
  const loaded = useLoaded(
    (signal) => hone.trajectories.get(modelId, number, { signal }),
    [hone, modelId, number],
  );
  const list = listPlace(addressOf("trajectories", [modelId]));
  const { value: neighbours } = useLoaded(
    (signal) => trajectoryNeighbours(hone, { modelId, number }, list, signal),
    [hone, modelId, number, list.address],
  );
  const listName = listNames[list.view] ?? "Trajectories";
  const linkTo = (id: string | null = null) =>
    id === null ? null : addressOf("trajectories", [modelId, id], sameList());
  return (
    <View
      title={`Trajectory ${number}`}
      path={[...pathOfModel(modelId, model.value), [listName, list.address]]}
    >
      <RowNav
        list={list.address}
        listName={listName}
        noun="trajectory"
        previous={linkTo(neighbours?.previous)}
        next={linkTo(neighbours?.next)}
      />
      <Shown loaded={loaded}>
        {(trajectory) => (
          <div class="beside">
            <Turns trajectory={trajectory} />
            <aside>
              <Judged hone={hone} modelId={modelId} number={number} trajectory={trajectory} />
              <Shown loaded={model}>
                {(owner) => <FeedbackPanel hone={hone} subject={subjectOf(owner, trajectory)} />}
              </Shown>
            </aside>
          </div>
        )}
      </Shown>
    </View>
  );
}

function Turns({ trajectory }: { readonly trajectory: StoredTrajectory }) {
  const branches = branchesOf(trajectory);
  const hasTokens = branches.some(({ turns }) => turns.some(({ tokens }) => tokens !== null));
  return (
    <div>
      {trajectory.left_out_bytes !== undefined && (
        <p class="warning">
          This trajectory is too large to show ({trajectory.left_out_bytes.toLocaleString("en")} bytes). An
          export contains all of it.
        </p>
      )}
      <ReadingSwitch hasTokens={hasTokens} />
      {branches.map(({ name, turns, toolNames }) => (
        <section key={name} aria-label={name}>
          <h2 class={branches.length > 1 ? undefined : "hidden"}>{name}</h2>
          <TurnList turns={turns} toolNames={toolNames} />
          {turns.length === 0 && <p class="muted">This conversation has no messages.</p>}
        </section>
      ))}
      <Logs of={trajectory["logs"]} />
      <RawJson value={trajectory} />
    </div>
  );
}

/** Lines that the client logged with the trajectory. */
function Logs({ of: logs }: { readonly of: unknown }) {
  if (!Array.isArray(logs) || logs.length === 0) return null;
  const lines = logs.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  return (
    <details>
      <summary>{counted(lines.length, "log line")}</summary>
      <div class="said code">{lines.join("\n")}</div>
    </details>
  );
}

/** Reward and cost of the trajectory, and links to the rest of its group. */
function Judged({
  hone,
  trajectory,
  ...key
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly number: string;
  readonly trajectory: StoredTrajectory;
}) {
  const members = useGroup(hone, key, trajectory) ?? [];
  const own = members.find(({ id }) => id === key.number);
  return (
    <>
      <Judgement trajectory={trajectory} cost={own === undefined ? null : costText(own)} />
      <Siblings {...key} members={members} />
    </>
  );
}

function Judgement({
  trajectory,
  cost,
}: {
  readonly trajectory: StoredTrajectory;
  readonly cost: string | null;
}) {
  const metrics = Object.entries({
    ...numbersIn(trajectory["auto_metrics"]),
    ...numbersIn(trajectory["metrics"]),
  });
  const startTime = trajectory["start_time"];
  const { source, source_id: sourceId, recorded_at: recordedAt } = trajectory;
  const versions = versionsText(trajectory);
  const metadata = { ...trajectory.group_metadata, ...objectIn(trajectory["metadata"]) };
  return (
    <section aria-labelledby="judged">
      <h2 id="judged">Reward {shortNumber(trajectory.reward)}</h2>
      <Facts of={metrics.map(([name, value]) => [name, metricText(value)] as const)} />
      <Facts
        of={[
          [
            "source",
            source === "job" ? (
              <a href={addressOf("jobs", [sourceId])}>training job</a>
            ) : (
              sourceText(trajectory)
            ),
          ],
          ...(typeof startTime === "string" ? [["started", <When at={startTime} />] as const] : []),
          ["stored", <When at={recordedAt} />],
          ["group", `${trajectory.group_index + 1}, attempt ${trajectory.index + 1}`],
          ...(versions === null ? [] : ([["versions that answered", versions]] as const)),
          ...(cost === null ? [] : ([["cost", cost]] as const)),
        ]}
      />
      {Object.keys(metadata).length > 0 && (
        <details>
          <summary>Metadata</summary>
          <div class="said code">{JSON.stringify(metadata, null, 2)}</div>
        </details>
      )}
    </section>
  );
}

/** Returns the model's versions at the trajectory's start and end; null if its client reported none. */
function versionsText(trajectory: StoredTrajectory): string | null {
  const [first, last] = [trajectory["initial_policy_version"], trajectory["final_policy_version"]].map(
    (version) => (typeof version === "number" ? String(version) : null),
  );
  if (first === null || first === undefined) return last ?? null;
  return last === null || last === undefined || last === first ? first : `${first} to ${last}`;
}

function subjectOf({ entity, project }: ModelObject, { id }: StoredTrajectory) {
  return callIn({ entity, project }, id);
}

function numbersIn(value: unknown): Readonly<Record<string, number | boolean>> {
  const entries = Object.entries(objectIn(value)).filter(
    (entry): entry is [string, number | boolean] =>
      typeof entry[1] === "number" || typeof entry[1] === "boolean",
  );
  return Object.fromEntries(entries);
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
