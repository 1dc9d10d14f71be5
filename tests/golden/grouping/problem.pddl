(define (problem grouping)
  (:domain operator-grouping)
  (:objects
    o0 - operator ; "lo\"ad\n(now t3)"
    o1 - operator ; "train"
    o2 - operator ; "report"
    i0 - image ; "plain"
    i1 - image ; "torch"
    t0 t1 t2 t3 t4 t5 - moment)
  (:init
    (now t0)
    (= (total-cost) 0)
    (next t0 t1) (places t0 o0)
    (next t1 t2) (places t1 o1)
    (next t2 t3) (links t2 o0 o1)
    (next t3 t4) (places t3 o2)
    (next t4 t5) (links t4 o1 o2)
    (unused i0) (= (group-cost i0) 420)
    (unused i1) (= (group-cost i1) 605)
    (runs i0 o0) (runs i1 o0)
    (runs i1 o1)
    (runs i0 o2) (runs i1 o2)
    (= (intra-cost o0 o1) 20) (= (inter-cost o0 o1) 60)
    (= (intra-cost o1 o2) 1) (= (inter-cost o1 o2) 3))
  (:goal (now t5))
  (:metric minimize (total-cost)))
; costs are multiplied by 10
