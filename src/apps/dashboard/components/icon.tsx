// Icons of the set Lucide. Only this file imports them, so that the build contains only the icons named here.
import { createElement } from "preact";
import {
  Activity,
  Brain,
  Check,
  ChevronRight,
  CircleHelp,
  Coins,
  Copy,
  Cpu,
  Download,
  GitCompareArrows,
  House,
  KeyRound,
  LineChart,
  ListChecks,
  ListTree,
  LogOut,
  Menu,
  MessageSquare,
  MessagesSquare,
  Moon,
  Play,
  Plus,
  RefreshCw,
  Route,
  ScrollText,
  Search,
  ShieldCheck,
  Sun,
  ThumbsUp,
  Timer,
  Trash2,
  Upload,
  Waypoints,
  Webhook,
  WifiOff,
  X,
  BookOpen,
} from "lucide";

const icons = {
  activity: Activity,
  book: BookOpen,
  chart: LineChart,
  chat: MessageSquare,
  conversations: MessagesSquare,
  check: Check,
  chevron: ChevronRight,
  close: X,
  coins: Coins,
  compare: GitCompareArrows,
  copy: Copy,
  cpu: Cpu,
  download: Download,
  feedback: ThumbsUp,
  help: CircleHelp,
  jobs: Activity,
  key: KeyRound,
  home: House,
  menu: Menu,
  model: Brain,
  moon: Moon,
  offline: WifiOff,
  play: Play,
  plus: Plus,
  queue: ListChecks,
  reload: RefreshCw,
  retention: Timer,
  rule: ShieldCheck,
  runs: Route,
  search: Search,
  "sign-out": LogOut,
  logs: ScrollText,
  sun: Sun,
  trace: Waypoints,
  trajectory: ListTree,
  trash: Trash2,
  upload: Upload,
  webhook: Webhook,
} as const;

export type IconName = keyof typeof icons;

/** An icon, hidden from screen readers: its neighbour or its button's label says the same in words. */
export function Icon({ of }: { readonly of: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {icons[of].map(([shape, attributes], index) => createElement(shape, { key: index, ...attributes }))}
    </svg>
  );
}
