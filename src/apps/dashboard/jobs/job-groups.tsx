// View of the groups of trajectories that a job trains on: prompts, rewards, and groups whose rewards are all equal.
import type { TrainingJob, TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortNumber } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";
import { Facts, Shown, View, WideTable } from "../components/shown.tsx";
import { differingTexts } from "../components/tables/differing-texts.ts";
import { type GroupRow, groupRows, groupsTitle } from "../trajectories/group-rows.ts";
import { Members } from "../trajectories/members.tsx";
import { fromHere, listPlace } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { NotTrained } from "./job-data.tsx";

/** Maximum number of trajectories that are read. */
const outlinesMax = 2000;

interface JobData {
  readonly job: TrainingJob;
  readonly groups: readonly GroupRow[];
  readonly isWhole: boolean;
}

export function JobGroups({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const loaded = useLoaded((signal) => loadGroups(hone, id, signal), [hone, id]);
  const list = listPlace(addressOf("jobs"));
  return (
    <View
      title={loaded.value === null ? `Groups of job ${shortId(id)}` : groupsTitle(loaded.value)}
      path={[
        list.view === "runs" ? ["Runs", list.address] : ["Jobs", addressOf("jobs")],
        [`Job ${shortId(id)}`, addressOf("jobs", [id])],
      ]}
    >
      <Shown loaded={loaded}>{(data) => <Groups {...data} />}</Shown>
    </View>
  );
}

function Groups({ job, groups, isWhole }: JobData) {
  if (groups.length === 0)
    return (
      <p>
        {job.kind === "rl"
          ? "The trajectories of this job are not stored, or were deleted."
          : "Only jobs of reinforcement learning have groups of trajectories."}
      </p>
    );
  const flat = groups.filter(({ spread }) => spread === 0);
  const rewards = groups.map(({ meanReward }) => meanReward);
  const prompts = differingTexts(groups.map(({ prompt }) => prompt));
  const version = job.result_step;
  return (
    <>
      {version !== null && (
        <p>
          These groups are the training data of version {version}: answers of earlier versions, normally of
          version {version - 1}. Their rewards therefore belong to <code>data/reward</code> of version{" "}
          {version}, not to its <code>train/reward</code>.
        </p>
      )}
      <Facts
        of={[
          ["groups", String(groups.length)],
          ["mean reward", shortNumber(rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length)],
          ["groups with equal rewards", `${flat.length} of ${groups.length}`],
        ]}
      />
      {flat.length > groups.length / 2 && (
        <p class="warning">
          Most groups have equal rewards. The job learns nothing from them, because reinforcement learning
          compares the answers of a group.
        </p>
      )}
      <NotTrained job={job} />
      {!isWhole && <p class="muted">Only the first {outlinesMax} trajectories are shown.</p>}
      <WideTable label="Groups">
        <thead>
          <tr>
            <th scope="col" class="number">
              group
            </th>
            <th scope="col">prompt</th>
            <th scope="col" class="number">
              mean reward
            </th>
            <th scope="col" class="number" title="Highest minus lowest reward">
              spread
            </th>
            <th scope="col">rewards of the trajectories</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group, place) => (
            <tr key={group.index}>
              <td class="number">{group.index + 1}</td>
              <td class="words" title={group.prompt} dir="auto">
                {prompts[place]}
              </td>
              <td class="number">{shortNumber(group.meanReward)}</td>
              <td class="number">{group.spread === 0 ? "none" : shortNumber(group.spread)}</td>
              <td>
                <Members group={group} modelId={job.model_id} from={fromHere()} />
              </td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </>
  );
}

async function loadGroups(hone: Hone, id: string, signal: AbortSignal): Promise<JobData> {
  const job = await hone.jobs.get(id, { signal });
  const { model_id: modelId } = job;
  if (job.kind !== "rl") return { job, groups: [], isWhole: true };
  const rows = await hone.trajectories
    .list(modelId, { source: "jobs", job_id: id, limit: 1 }, { signal })
    .first();
  const [first] = rows.data;
  const outlines: TrajectoryOutline[] = [];
  if (first !== undefined) {
    // The API cannot filter outlines by job. But a job's outlines are stored at once, so they follow each other.
    const query = { source: "job", limit: 100, order: "asc", recorded_from: first.recorded_at } as const;
    for await (const outline of hone.trajectories.outlines(modelId, query, { signal })) {
      if (outline.source_id === id) outlines.push(outline);
      else if (outlines.length > 0) break;
      if (outlines.length === outlinesMax) break;
    }
  }
  return { job, groups: groupRows(outlines), isWhole: outlines.length < outlinesMax };
}
