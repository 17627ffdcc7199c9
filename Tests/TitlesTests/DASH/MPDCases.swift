extension MPDCase {
    /// Templates with numbers, times and their counts (ISO/IEC 23009-1, 5.3.9.4 to 5.3.9.6).
    static let templates = [
        MPDCase(
            "numbers up to the period's end",
            one(template("media='$Number$.m4s' initialization='i.mp4' duration='4'")),
            "init i.mp4", "media 1.m4s 4s", "media 2.m4s 4s", "media 3.m4s 4s"),
        MPDCase(
            "a period of whole segments", one(template("media='$Number$' duration='5'")),
            "media 1 5s", "media 2 5s"),
        MPDCase(
            "the first number", one(template("media='$Number$' duration='5' startNumber='0'")),
            "media 0 5s", "media 1 5s"),
        MPDCase(
            "the last number",
            one(template("media='$Number$' duration='2' startNumber='7' endNumber='8'")),
            "media 7 2s", "media 8 2s"),
        MPDCase(
            "a timescale", one(template("media='$Number$' duration='7500' timescale='1000'")),
            "media 1 7.5s", "media 2 7.5s"),
        MPDCase(
            "a width", one(template("media='$Number%05d$.ts' duration='10'")),
            "media 00001.ts 10s"),
        MPDCase(
            "a number wider than its width",
            one(template("media='$Number%03d$.ts' duration='10' startNumber='12345'")),
            "media 12345.ts 10s"),
        MPDCase(
            "id, bandwidth and a dollar",
            one(
                template(
                    "media='$RepresentationID$/$Bandwidth$/$$/$Number$' duration='10' "
                        + "initialization='$Bandwidth%06d$-$RepresentationID$$$'")),
            "init 001000-v$", "media v/1000/$/1 10s"),
        MPDCase(
            "two numbers in one URL", one(template("media='$Number$/$Number%02d$' duration='10'")),
            "media 1/01 10s"),
        MPDCase("one segment alone", one(template("media='all.mp4'")), "media all.mp4"),
        MPDCase(
            "a template that names all segments alike",
            one(template("media='all.mp4' duration='1'")), "media all.mp4 1s"),
        MPDCase(
            "a presentation time offset moves nothing",
            one(template("media='$Number$' duration='5' presentationTimeOffset='1000'")),
            "media 1 5s", "media 2 5s"),
        MPDCase(
            "a first segment that begins before its period",
            one(template("media='$Number$' duration='5' eptDelta='-1'")),
            "media 1 5s", "media 2 5s", "media 3 5s"),
        MPDCase(
            "a first segment that begins after its period",
            one(template("media='$Number$' duration='5' eptDelta='5'")), "media 1 5s"),
        MPDCase(
            "a rounded duration", one(template("media='$Number$' duration='5'")),
            "media 1 5s", "media 2 5s",
            attributes: "mediaPresentationDuration=\"PT10.00068664551S\""),
        MPDCase(
            "a short last segment", one(template("media='$Number$' duration='5'")),
            "media 1 5s", "media 2 5s", "media 3 5s",
            attributes: "mediaPresentationDuration=\"PT10.001S\""),
        MPDCase(
            "no duration, but a last number",
            one(template("media='$Number$' duration='5' endNumber='2'")),
            "media 1 5s", "media 2 5s", attributes: ""),
        MPDCase(
            "index segments",
            one(template("media='$Number$.ts' index='$Number$.six' duration='5'")),
            "index 1.six", "media 1.ts 5s", "index 2.six", "media 2.ts 5s"),
        MPDCase(
            "one index, bitstream switching",
            one(
                template(
                    "media='$RepresentationID$_$Number%05d$.ts' index='$RepresentationID$.sidx' "
                        + "initialization='$RepresentationID$-init.ts' "
                        + "bitstreamSwitching='$RepresentationID$-bssw.ts' duration='10'")),
            "init v-init.ts", "init v-bssw.ts", "index v.sidx", "media v_00001.ts 10s"),
        MPDCase(
            "elements in place of attributes",
            one(
                template(
                    "media='$Number$' duration='10'",
                    "<Initialization sourceURL='a.mp4' range='0-99'/>"
                        + "<RepresentationIndex sourceURL='a.mp4' range='100-199'/>"
                        + "<BitstreamSwitching sourceURL='b.mp4'/>")),
            "init a.mp4 0+100", "init b.mp4", "index a.mp4 100+100", "media 1 10s"),
        MPDCase(
            "an id with a slash and a query",
            set(
                template("media='$RepresentationID$$Number$' duration='10'")
                    + "<Representation id='a/../b?x=' bandwidth='1'/>"),
            "media b?x=1 10s"),
    ]

    static let timelines = [
        MPDCase(
            "times and repeats",
            timeline("media='$Time$' initialization='i'", "t='0' d='3' r='1'", "d='4'"),
            "init i", "media 0 3s", "media 3 3s", "media 6 4s"),
        MPDCase(
            "times with a width", timeline("media='$Time%04d$'", "t='7' d='10'"),
            "media 0007 10s"),
        MPDCase(
            "a gap", timeline("media='$Time$' timescale='2'", "t='0' d='6'", "t='10' d='10'"),
            "media 0 3s", "media 10 5s"),
        MPDCase(
            "numbers", timeline("media='$Number$' startNumber='5'", "d='5' r='1'"),
            "media 5 5s", "media 6 5s"),
        MPDCase(
            "a number of its own",
            timeline("media='$Number$'", "d='2'", "n='9' d='4' r='1'"),
            "media 1 2s", "media 9 4s", "media 10 4s"),
        MPDCase(
            "a last number",
            timeline("media='$Number$' startNumber='3' endNumber='4'", "d='1' r='5'", "d='4'"),
            "media 3 1s", "media 4 1s"),
        MPDCase(
            "repeats up to the period's end", timeline("media='$Time$'", "t='0' d='4' r='-1'"),
            "media 0 4s", "media 4 4s", "media 8 4s"),
        MPDCase(
            "any number below zero is the same", timeline("media='$Time$'", "d='5' r='-7'"),
            "media 0 5s", "media 5 5s"),
        MPDCase(
            "repeats up to the next entry",
            timeline("media='$Time$'", "d='2' r='-1'", "t='6' d='4'"),
            "media 0 2s", "media 2 2s", "media 4 2s", "media 6 4s"),
        MPDCase(
            "repeats after an offset",
            timeline("media='$Time$' presentationTimeOffset='100'", "t='100' d='5' r='-1'"),
            "media 100 5s", "media 105 5s"),
        MPDCase(
            "times from the epoch on",
            timeline(
                "media='$Time$' timescale='10000000'",
                "t='16094592000000000' d='50000000' r='1'"),
            "media 16094592000000000 5s", "media 16094592050000000 5s"),
        MPDCase(
            "segment sequences", timeline("media='$Number$-$SubNumber$'", "d='5' r='1' k='2'"),
            "media 1-0 2.5s", "media 1-1 2.5s", "media 2-0 2.5s", "media 2-1 2.5s"),
        MPDCase(
            "what it lists beyond the period's end is there",
            timeline("media='$Number$'", "d='20' r='1'"), "media 1 20s", "media 2 20s"),
        MPDCase(
            "a duration takes a timeline's place",
            set(
                template("media='$Number$'", "<SegmentTimeline><S d='1' r='9'/></SegmentTimeline>")
                    + representation(template("duration='5'"))),
            "media 1 5s", "media 2 5s"),
        MPDCase(
            "a timeline takes a duration's place",
            set(
                template("media='$Number$' duration='1'")
                    + representation(
                        template("", "<SegmentTimeline><S d='10'/></SegmentTimeline>"))),
            "media 1 10s"),
    ]
}
