"""How drift came and went: turns the findings of each look into stretches of time, each open or closed.

Only looks that compared something count, in the order in which they were made. A run that could not reach a target, or
was not about it, neither opens nor closes anything there; nor does a look that could not read an object. An object that
is no longer declared has not been repaired; the same holds for a whole topology that its target's next look does not
know.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.tables import DRIFT_HISTORY

PAIR = ("target", "topology")
THING = (*PAIR, "address", "spot")
"""One thing that can drift; its `spot` is the path, and empty for the object as a whole."""
ABOUT = ("labels", "kind", "team", "class", "standing", "live", "desired", "applied", "codes")
"""What was reported of it when it was last seen."""
LOST = ("unknown", "unremembered")
"""States in which it is unknown how an object compares to what was applied."""
PAST = ("occurrence", "clean", "opened", "opened_run", "last_seen", "last_seen_run", "looks", "closed")


def drift_history(drift: DataFrame, desired: DataFrame, before: DataFrame | None = None) -> DataFrame:
    """DRIFT of all runs, and DESIRED of as many as there are → DRIFT_HISTORY. `before`, an earlier result, saves work:
    if it was made of the same looks as exist now (none rewritten, none late), only later looks are processed."""
    # used many times each: Spark would plan and compute them each time
    looks = _all_looks(drift).localCheckpoint(eager=False)
    before = with_columns_of(drift.select("target").limit(0), DRIFT_HISTORY) if before is None else before
    known_looks = _known_looks(looks, before)
    fresh = _new_looks(looks, known_looks).localCheckpoint(eager=False)
    past = _known_episodes(before, known_looks).localCheckpoint(eager=False)
    episodes = _with_undeclared_ends(_with_dates(_episodes(_marks(drift, fresh, past)), fresh), desired, fresh)
    rows = episodes.unionByName(past.where("closed is not null"), allowMissingColumns=True)
    return (
        _with_states(rows, drift, looks)
        .unionByName(_watched_rows(looks), allowMissingColumns=True)
        .select(*DRIFT_HISTORY.names)
    )


def is_drift() -> Column:
    """Is a row of DRIFT drift that no `ignore_drift` entry covers?"""
    return F.coalesce("drifted", F.lit(False)) & ~_is_ignored()


def is_recorded_drift() -> Column:
    """Is it drift by a record of an apply? What differs from the file alone may never have been applied."""
    return is_drift() & ~_is_by_file()


def _is_by_file() -> Column:
    return F.coalesce(F.col("class") == "plain", F.lit(False))


def _is_ignored() -> Column:
    return F.coalesce("ignored", F.lit("")) != ""


def looks_of(drift: DataFrame) -> DataFrame:
    """Return one row per run that compared a topology on a target with what was applied there."""
    is_look = F.col("standing") == "compared"
    of_topology = drift.where(is_look | ((F.col("standing") == "unknown") & F.col("address").isNull()))
    looks = of_topology.groupBy("run", *PAIR).agg(
        F.max("at").alias("at"), F.first("labels").alias("labels"), F.max(F.to_json("quantities")).alias("found"),
        F.bool_and(is_look).alias("is_sure"),
    )  # fmt: skip
    return looks.where("is_sure").drop("is_sure")


def unreadable_objects(drift: DataFrame) -> DataFrame:
    """Return objects of which a run found out nothing, as far as history goes."""
    return drift.where(F.col("standing").isin(*LOST) & F.col("address").isNotNull()).select("run", *PAIR, "address")


def _all_looks(drift: DataFrame) -> DataFrame:
    """Looks, including those by which a topology is gone. `mark` differs between any two looks, between two comparisons
    of one snapshot with different outcomes, and where a topology was not gone before."""
    looks = looks_of(drift).withColumn("gone", F.lit(False))
    both = looks.unionByName(_looks_without_topology(drift, looks), allowMissingColumns=True)
    so_far = _looks_in_order().rowsBetween(Window.unboundedPreceding, 0)
    gone = F.bit_xor(F.when(F.col("gone"), F.xxhash64("run", "at"))).over(so_far)
    return both.withColumn("mark", F.xxhash64("run", "at", "found", gone))


def _looks_without_topology(drift: DataFrame, looks: DataFrame) -> DataFrame:
    """Looks at a target that should hold other topologies than the one looked at in other runs, or none. Where the
    topology could not even be named, it is unknown which it was."""
    named = F.col("topology").isNotNull() | (F.col("standing") == "undeclared")
    each = drift.where("address is null").groupBy("run", "target").agg(
        F.max("at").alias("at"), F.collect_set("topology").alias("named"), F.bool_and(named).alias("is_sure")
    )  # fmt: skip
    pairs = looks.select(*PAIR).distinct()
    other = each.where("is_sure and at is not null").join(pairs, "target").where("not array_contains(named, topology)")
    return other.select("run", *PAIR, "at", F.lit(True).alias("gone"))


def _watched_rows(looks: DataFrame) -> DataFrame:
    """Per topology and target: since when, until when, how often; the digest identifies these looks."""
    return (
        looks.where("not gone")
        .groupBy(*PAIR)
        .agg(
            F.max_by("labels", _order_of_look()).alias("labels"),
            F.lit("watched").alias("state"),
            F.min("at").alias("opened"),
            F.min_by("run", _order_of_look()).alias("opened_run"),
            F.max("at").alias("last_seen"),
            F.max_by("run", _order_of_look()).alias("last_seen_run"),
            F.count("*").alias("looks"),
            F.bit_xor("mark").alias("digest"),
        )
    )


def _order_of_look(time: str = "at", run: str = "run") -> Column:
    return F.struct(F.col(time).alias("at"), F.col(run).alias("run"))


def _looks_in_order() -> WindowSpec:
    return Window.partitionBy(*PAIR).orderBy("at", "run")


def _known_looks(looks: DataFrame, before: DataFrame) -> DataFrame:
    """The last look that went into `before`, where all looks up to it are still the same."""
    was = before.where("state = 'watched'").select(
        *PAIR, _order_of_look("last_seen", "last_seen_run").alias("last"), "digest"
    )
    old = looks.where("not gone").join(was, [*PAIR], "inner").where(_order_of_look() <= F.col("last"))
    same = old.groupBy(*PAIR, "last", "digest").agg(F.bit_xor("mark").alias("now"))
    return same.where("now = digest").select(*PAIR, "last")


def _known_episodes(before: DataFrame, known_looks: DataFrame) -> DataFrame:
    """What those looks left. Something gone since the last of them may turn out not to be, so it is processed again."""
    past = before.where("address is not null").join(known_looks, [*PAIR])
    is_told = _order_of_look("closed", "closed_run") <= F.col("last")
    return past.withColumn("closed", F.when(is_told, F.col("closed"))).drop("last")


def _new_looks(looks: DataFrame, known_looks: DataFrame) -> DataFrame:
    """The looks to process, from 1 on; the last known one, at which everything open still stood, counts as 0."""
    in_order = _looks_in_order()
    all_of_them = looks.withColumn("before", F.lag(F.when(~F.col("gone"), F.col("at"))).over(in_order))
    later = all_of_them.join(known_looks, [*PAIR], "left").where(
        F.col("last").isNull() | (_order_of_look() > F.col("last"))
    )
    number = F.row_number().over(in_order).alias("n")
    return later.select("run", *PAIR, F.col("at").alias("look_at"), "before", "gone", number)


def _marks(drift: DataFrame, fresh: DataFrame, past: DataFrame) -> DataFrame:
    """What each look says of each thing: `about` where it saw drift, `hides` where that was unknown, `past` where an
    earlier history ends, `why` where it no longer counts. It says nothing about things in order."""
    rows = drift.where("address is not null").join(fresh, ["run", *PAIR], "inner")
    reported = rows.select(
        *PAIR, "address", place_in_object().alias("spot"), "n",
        F.when(is_recorded_drift(), F.struct(*ABOUT)).alias("about"),
        _is_by_file().alias("by_file"),
        F.when(_is_ignored(), "ignored").alias("why"),
        F.when(F.col("path").isNull(), F.col("standing")).alias("whole"),
    )  # fmt: skip
    each = past.withColumn("spot", place_in_object()).groupBy(*THING)
    latest = each.agg(F.max_by(F.struct(*ABOUT, *PAST), "occurrence").alias("past"))
    carried = latest.withColumn("n", F.when(F.col("past.closed").isNull(), 0).otherwise(-1))
    return _marks_of_things(reported.unionByName(carried, allowMissingColumns=True))


def place_in_object() -> Column:
    """Return the place in the object: the path, or nothing for the object as a whole."""
    return F.coalesce("path", F.lit(""))


def _marks_of_things(marks: DataFrame) -> DataFrame:
    """Apply what is said of an object to each thing in it. An object that is gone or has another owner hides its
    fields; one that could not be read, or waits to be created, deleted or finished, hides itself too. Where the applied
    values are unknown, a difference was found from the file alone: it gets no history, and hides what was open."""
    is_thing = F.col("about").isNotNull() | F.col("past").isNotNull()
    things = F.collect_set(F.when(is_thing, F.col("spot"))).over(Window.partitionBy(*PAIR, "address"))
    itself = F.array("spot")
    reaches = F.when(F.col("whole").isNotNull(), F.array_union(itself, "things")).otherwise(itself)
    each = marks.withColumn("things", things).withColumn("reached", F.explode(reaches))
    own, state_of_object = F.col("reached") == F.col("spot"), F.col("whole")
    hides = state_of_object.isin(*LOST, "pending") | (
        state_of_object.isin("missing", "foreign") & (F.col("reached") != "")
    )
    is_lost = F.coalesce(F.bool_or(state_of_object.isin(*LOST)), F.lit(False))
    why = F.coalesce(F.when(own, F.col("why")), F.when(state_of_object == "orphaned", "undeclared"))
    return each.groupBy(*PAIR, "address", F.col("reached").alias("spot"), "n").agg(
        F.when(~is_lost, F.first(F.when(own, F.col("about")), ignorenulls=True)).alias("about"),
        F.first(F.when(own, F.col("past")), ignorenulls=True).alias("past"),
        F.coalesce(F.bool_or(hides | (own & F.col("by_file"))), F.lit(False)).alias("hides"),
        F.min(why).alias("why"),
    )


def _episodes(marks: DataFrame) -> DataFrame:
    """Marks on consecutive looks are one episode; the first look without one closes it, and may say why."""
    thing = Window.partitionBy(*THING)
    stays = F.col("about").isNotNull() | F.col("past").isNotNull() | F.col("hides")
    passed = F.sum(F.col("stays").cast("int")).over(thing.orderBy("n"))
    island = F.col("n") - passed - (~F.col("stays")).cast("int")  # the closing look belongs to it
    islands = marks.withColumn("stays", stays).withColumn("island", island).groupBy(*THING, "island")
    seen_at = F.when(F.col("about").isNotNull(), F.col("n"))
    episodes = islands.agg(
        F.max_by("about", seen_at).alias("about"),
        F.first("past", ignorenulls=True).alias("past"),
        F.count("about").alias("times"),
        F.min(seen_at).alias("first_n"),
        F.max(seen_at).alias("last_n"),
        (F.max(F.when(F.col("stays"), F.col("n"))) + 1).alias("closed_n"),
        F.first(F.when(~F.col("stays"), F.col("why")), ignorenulls=True).alias("why"),
    ).where("times > 0 or past is not null")  # fmt: skip
    earlier = F.coalesce(F.max("past.occurrence").over(thing), F.lit(1)) - 1
    occurrence = earlier + F.row_number().over(thing.orderBy("island"))
    return episodes.withColumn("occurrence", occurrence).where("past.closed is null")


def _with_dates(episodes: DataFrame, fresh: DataFrame) -> DataFrame:
    """When and in which runs, from the numbers of the looks."""
    in_order = F.sort_array(F.collect_list(F.struct("n", F.col("look_at").alias("at"), "run", "before", "gone")))
    row = episodes.join(fresh.groupBy(*PAIR).agg(in_order.alias("looks_here")), [*PAIR], "left")
    for end in ("first", "last", "closed"):
        row = row.withColumn(end, F.get("looks_here", F.col(f"{end}_n") - 1))
    took = F.col("closed.at").cast("double") - F.coalesce("past.opened", "first.at").cast("double")
    ended = F.when(F.col("closed.gone"), "undeclared").otherwise(F.coalesce("why", F.lit("repaired")))
    return row.select(
        "target", "topology", "address", "occurrence",
        F.nullif("spot", F.lit("")).alias("path"),
        F.nullif(F.regexp_replace("spot", r"\[\d+\]", ""), F.lit("")).alias("field"),
        *(F.coalesce(f"about.{name}", f"past.{name}").alias(name) for name in ABOUT),
        F.when(F.col("past").isNull(), F.col("first.before")).otherwise(F.col("past.clean")).alias("clean"),
        F.coalesce("past.opened", "first.at").alias("opened"),
        F.coalesce("past.opened_run", "first.run").alias("opened_run"),
        F.coalesce("last.at", "past.last_seen").alias("last_seen"),
        F.coalesce("last.run", "past.last_seen_run").alias("last_seen_run"),
        (F.col("times") + F.coalesce("past.looks", F.lit(0))).alias("looks"),
        F.col("closed.at").alias("closed"),
        F.col("closed.run").alias("closed_run"),
        F.when(F.col("closed").isNotNull(), ended).alias("ended"),
        took.alias("seconds"),
    )  # fmt: skip


def _with_undeclared_ends(dated: DataFrame, desired: DataFrame, fresh: DataFrame) -> DataFrame:
    """Something not found again because nothing declares it any more has not been repaired. For a run whose DESIRED no
    longer exists, that is unknown, and it counts as repaired. Only what was repaired took time. Only runs in which
    something can have ended are read."""
    look = ["closed_run", *PAIR]
    was = desired.join(F.broadcast(fresh.select("run", *PAIR)), ["run", *PAIR], "leftsemi")
    was = was.withColumnRenamed("run", "closed_run")
    kept = was.where("address is null").select(*look, F.lit(True).alias("is_kept")).distinct()
    declared = was.where("address is not null").select(*look, "address", F.lit(True).alias("is_declared")).distinct()
    both = dated.join(kept, look, "left").join(declared, [*look, "address"], "left")
    is_let_go = (F.col("ended") == "repaired") & F.col("is_kept") & F.col("is_declared").isNull()
    ended = both.withColumn("ended", F.when(is_let_go, "undeclared").otherwise(F.col("ended")))
    took = F.when(F.col("ended") == "repaired", F.col("seconds"))
    return ended.withColumn("seconds", took).drop("is_kept", "is_declared")


def _with_states(rows: DataFrame, drift: DataFrame, looks: DataFrame) -> DataFrame:
    """Something not closed is open where its target's newest run could read the object, whatever its state."""
    newest = F.broadcast(drift.groupBy("target").agg(F.max_by("run", _order_of_look()).alias("run")))
    seen = looks.where("not gone").join(newest, ["target", "run"]).select(*PAIR, F.lit(True).alias("is_seen"))
    unsure = (
        unreadable_objects(drift)
        .join(newest, ["target", "run"])
        .select(*PAIR, "address", F.lit(True).alias("is_lost"))
        .distinct()
    )
    both = rows.join(seen, [*PAIR], "left").join(unsure, [*PAIR, "address"], "left")
    is_open = F.col("is_seen") & F.col("is_lost").isNull()
    state = F.when(F.col("closed").isNotNull(), "closed").when(is_open, "open").otherwise("unseen")
    return both.withColumn("state", state).drop("is_seen", "is_lost")
