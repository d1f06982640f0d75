#!/usr/bin/env bash
# Makes sure Java 17 or newer is there: installs it with the system's package manager where it may, says how where it may not.
set -euo pipefail
wanted=17

java_major() {
  local java="java"
  [ -n "${JAVA_HOME:-}" ] && [ -x "${JAVA_HOME}/bin/java" ] && java="${JAVA_HOME}/bin/java"
  command -v "$java" >/dev/null 2>&1 || { echo 0; return; }
  # "17.0.15" -> 17, "1.8.0_412" -> 1: anything below 17 is too old all the same.
  "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1 | grep -E '^[0-9]+$' || echo 0
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -n "$@"
  else return 126
  fi
}

install_java() {
  if command -v apt-get >/dev/null 2>&1; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq \
      && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless
  elif command -v dnf >/dev/null 2>&1; then as_root dnf install -y -q java-17-openjdk-headless
  elif command -v apk >/dev/null 2>&1; then as_root apk add --no-cache openjdk17-jre-headless
  elif command -v brew >/dev/null 2>&1; then brew install openjdk@17
  else return 127
  fi
}

found=$(java_major)
[ "$found" -ge "$wanted" ] && exit 0
echo "Java $wanted or newer is needed by Spark (found: $([ "$found" -eq 0 ] && echo none || echo "$found")); trying to install it." >&2
install_java >&2 || true
found=$(java_major)
[ "$found" -ge "$wanted" ] && exit 0
cat >&2 <<MSG
Could not install Java here (no package manager, or no right to use it). Install it once, then run the same command again:
  Debian, Ubuntu    sudo apt-get install openjdk-17-jre-headless
  Fedora, RHEL      sudo dnf install java-17-openjdk-headless
  Alpine            sudo apk add openjdk17-jre-headless
  macOS             brew install openjdk@17
  any, without root conda install -c conda-forge openjdk=17
If a newer Java is installed elsewhere, point JAVA_HOME at it.
MSG
exit 1
