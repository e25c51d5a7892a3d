// Chooses the view that the URL names. All views but the overview are loaded when they are first opened.
import type { ComponentChildren } from "preact";
import { lazyView } from "../components/lazy-view.tsx";
import { View } from "../components/shown.tsx";
import { addressOf, type Place } from "../router.ts";
import type { Session } from "../session.ts";
import { canOpen, needText } from "./key-access.ts";
import { Overview } from "../overview/overview.tsx";

const Annotate = lazyView(async () => (await import("../annotating/annotate.tsx")).Annotate);
const ChatView = lazyView(async () => (await import("../views/chat.tsx")).ChatView);
const EvaluationView = lazyView(async () => (await import("../views/evaluation.tsx")).EvaluationView);
const BasesView = lazyView(async () => (await import("../operating/bases-view.tsx")).BasesView);
const FeedbackView = lazyView(async () => (await import("../feedback-list/feedback-view.tsx")).FeedbackView);
const JobGroups = lazyView(async () => (await import("../jobs/job-groups.tsx")).JobGroups);
const JobView = lazyView(async () => (await import("../views/job.tsx")).JobView);
const Jobs = lazyView(async () => (await import("../views/jobs.tsx")).Jobs);
const KeyView = lazyView(async () => (await import("../keys/key-view.tsx")).KeyView);
const ModelView = lazyView(async () => (await import("../views/model.tsx")).ModelView);
const Models = lazyView(async () => (await import("../views/models.tsx")).Models);
const QueueItems = lazyView(async () => (await import("../annotating/queue-items.tsx")).QueueItems);
const Queues = lazyView(async () => (await import("../annotating/queues.tsx")).Queues);
const RecordedChat = lazyView(async () => (await import("../recorded/recorded-chat.tsx")).RecordedChat);
const RecordedChats = lazyView(async () => (await import("../recorded/recorded-chats.tsx")).RecordedChats);
const RetentionView = lazyView(async () => (await import("../operating/retention-view.tsx")).RetentionView);
const LogsView = lazyView(async () => (await import("../operating/logs-view.tsx")).LogsView);
const RulesView = lazyView(async () => (await import("../operating/rules-view.tsx")).RulesView);
const Runs = lazyView(async () => (await import("../views/runs.tsx")).Runs);
const TracesView = lazyView(async () => (await import("../traces/traces-view.tsx")).TracesView);
const TraceView = lazyView(async () => (await import("../traces/trace-view.tsx")).TraceView);
const TrainView = lazyView(async () => (await import("../views/train.tsx")).TrainView);
const Trajectories = lazyView(async () => (await import("../views/trajectories.tsx")).Trajectories);
const TrajectoryModels = lazyView(
  async () => (await import("../views/trajectory-models.tsx")).TrajectoryModels,
);
const TrajectoryView = lazyView(async () => (await import("../views/trajectory.tsx")).TrajectoryView);

const WebhooksView = lazyView(async () => (await import("../operating/webhooks-view.tsx")).WebhooksView);

export function viewOf(place: Place, session: Session): ComponentChildren {
  const { key } = session;
  return canOpen(key, place.view) ? (
    openView(place, session)
  ) : (
    <ClosedView says={needText(key, place.view)} />
  );
}

/** Takes the place of a view that the session's key may not open. */
function ClosedView({ says }: { readonly says: string }) {
  return (
    <View title="Not open to your key">
      <p>
        {says} An administrator can change the key or create another one.{" "}
        <a href={addressOf("usage")}>Your key</a>
      </p>
    </View>
  );
}

function openView({ view, parts: [id, number], query }: Place, { hone, key }: Session): ComponentChildren {
  switch (view) {
    case "":
      return <Overview hone={hone} ownKey={key} />;
    case "models":
      return id === undefined ? (
        <Models hone={hone} />
      ) : (
        <ModelView key={id} hone={hone} id={id} tab={number} />
      );
    case "evaluation":
      return id === undefined ? <Models hone={hone} /> : <EvaluationView key={id} hone={hone} modelId={id} />;
    case "jobs":
      if (id === undefined) return <Jobs hone={hone} />;
      return number === "groups" ? (
        <JobGroups key={id} hone={hone} id={id} />
      ) : (
        <JobView key={id} hone={hone} id={id} />
      );
    case "runs":
      return <Runs hone={hone} />;
    case "train":
      return <TrainView key={query.toString()} hone={hone} />;
    case "trajectories":
      if (id === undefined) return <TrajectoryModels hone={hone} />;
      return number === undefined ? (
        <Trajectories key={id} hone={hone} modelId={id} />
      ) : (
        <TrajectoryView key={`${id} ${number}`} hone={hone} modelId={id} number={number} />
      );
    case "conversations":
    // Addresses of older releases.
    case "chats":
      return id === undefined ? (
        <RecordedChats hone={hone} />
      ) : (
        <RecordedChat key={id} hone={hone} requestId={id} />
      );
    case "feedback":
      return <FeedbackView hone={hone} />;
    case "queues":
      if (id === undefined) return <Queues hone={hone} />;
      return number === "items" ? (
        <QueueItems key={id} hone={hone} queueId={id} />
      ) : (
        <Annotate key={id} hone={hone} queueId={id} />
      );
    case "chat":
    // Addresses of older releases.
    case "compare":
      return <ChatView hone={hone} />;
    case "bases":
      return <BasesView hone={hone} />;
    case "rules":
      return <RulesView hone={hone} />;
    case "webhooks":
      return <WebhooksView hone={hone} />;
    case "retention":
      return <RetentionView hone={hone} />;
    case "logs":
      return <LogsView hone={hone} />;
    case "traces":
      return id === undefined ? <TracesView hone={hone} /> : <TraceView key={id} hone={hone} traceId={id} />;
    case "usage":
      return <KeyView hone={hone} />;
    default:
      return (
        <View title="Page not found">
          <p>
            There is no page at this address. <a href={addressOf("")}>Overview</a>
          </p>
        </View>
      );
  }
}
