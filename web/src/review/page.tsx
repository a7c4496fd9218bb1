export default function Page() {
  return <p class="empty">Under construction.</p>;
}
